import { visibleLine, visibleText } from '../base/visible-text.ts';
import { exitCodeOf, type SquadError } from '../schema/error.ts';
import { openContext } from './context.ts';
import { printJson } from './terminal/json.ts';
import { createStyle } from './terminal/style.ts';
import { wrap } from './terminal/wrap.ts';

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
