import { visibleLine, visibleText } from '../base/text.ts';
import { exitCodeOf, type SquadError } from '../schema/error.ts';
import type { ShownStatus } from '../schema/shown-status.ts';
import { openContext } from './context.ts';
import { printJson } from './terminal/json.ts';
import { createStyle } from './terminal/style.ts';
import { wrap } from './terminal/width.ts';

/** What scripts can rely on; told in `squad help` and the README. */
export const EXIT = {
  done: 0,
  /** A run did not complete, or the machine refused something. */
  failed: 1,
  usage: 2,
  needsInput: 3,
  limit: 4,
  /** `squad wait --timeout`: as timeout(1) says it. */
  timeUp: 124,
  interrupted: 130,
} as const;

/** A reviewer is ended once its part is done. */
const WELL: readonly ShownStatus[] = ['completed', 'terminated'];

export function exitFor(statuses: readonly ShownStatus[]): number {
  const others = statuses.filter(status => !WELL.includes(status));
  if (others.length === 0) return EXIT.done;
  return others.every(status => status === 'needs_you') ? EXIT.limit : EXIT.failed;
}

/** To people on standard error; to programs as JSON on standard output, where they look. */
export function reportError(error: SquadError, json: boolean): number {
  const context = openContext({ json });
  const style = createStyle(context.err.color);
  if (json) printJson(context.out, { error: error.toShape() });
  else {
    const { columns } = context.err;
    const head = `${style.red('squad:')} ${visibleLine(error.message)} ${style.dim(`(${error.code})`)}`;
    const next = error.suggestions
      .flatMap(line => wrap(visibleText(line), columns - 2))
      .map(line => `  ${line}`);
    context.err.write(`${[...wrap(head, columns), ...next].join('\n')}\n`);
  }
  return exitCodeOf(error.code);
}
