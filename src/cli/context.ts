import { visibleExceptColours } from '../base/text.ts';
import { createStyle, type Style } from './terminal/style.ts';
import { openTerminal, type Terminal } from './terminal/terminal.ts';

/** What every command is given: where results go, where progress goes, and how to colour them. */
export interface CliContext {
  /** Results: data for people or, with --json, for programs. */
  out: Terminal;
  /** Progress and errors. */
  err: Terminal;
  style: Style;
  json: boolean;
  /** `--workspace`, when given. */
  workspace: string | undefined;
}

export function openContext({ json = false, workspace }: { json?: boolean; workspace?: string }): CliContext {
  const out = openTerminal(process.stdout, process.env);
  return {
    out,
    err: openTerminal(process.stderr, process.env),
    style: createStyle(out.color),
    json,
    workspace,
  };
}

/** Of control sequences only colours are ours: any other came with somebody's text and is shown. */
export function print(context: CliContext, lines: string[]): void {
  context.out.write(lines.map(line => `${visibleExceptColours(line)}\n`).join(''));
}
