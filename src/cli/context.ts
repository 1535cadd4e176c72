import { hiddenWarning, visibleExceptColours, visibleLine, visibleText } from '../base/text.ts';
import { exitCodeOf, type SquadError } from '../schema/error.ts';
import { EXIT } from './exit-codes.ts';
import { withOwnCommand } from './own-command.ts';
import { jsonLine, printJson } from './terminal/json.ts';
import { createStyle, type Style } from './terminal/style.ts';
import { openTerminal, type Terminal } from './terminal/terminal.ts';
import { wrap } from './terminal/width.ts';

/** Context of every command: where and how to print. */
export interface CliContext {
  /** Results: text for people or, with --json, data for programs. */
  out: Terminal;
  /** Progress and errors. */
  err: Terminal;
  style: Style;
  json: boolean;
  /** Value of `--workspace`. */
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

/** Colours are the only control sequences that Squad prints: any other came with foreign text and is made visible. */
export function print(context: CliContext, lines: string[]): void {
  context.out.write(lines.map(line => `${visibleExceptColours(line)}\n`).join(''));
}

/** Prints the result of a command, as JSON or as lines, and returns the exit code. */
export function printResult(
  context: CliContext,
  result: unknown,
  lines: () => string[],
  code: number = EXIT.done,
): number {
  if (context.json) printJson(context.out, result);
  else print(context, lines());
  return code;
}

/** Prints remarks to standard error, wrapped. */
export function printNotes(
  { err }: CliContext,
  notes: readonly string[],
  color: 'yellow' | 'dim' = 'yellow',
): void {
  const paint = createStyle(err.color)[color];
  for (const line of notes.flatMap(note => wrap(visibleLine(withOwnCommand(note)), err.columns)))
    err.write(`${paint(line)}\n`);
}

/** Prints an error: for people to standard error, for programs as one line of JSON to standard output. Returns its exit code. */
export function reportError(error: SquadError, json: boolean): number {
  const { out, err } = openContext({ json });
  const style = createStyle(err.color);
  const suggestions = error.suggestions.map(line => withOwnCommand(line));
  if (json)
    out.write(jsonLine({ error: { ...error.toShape(), ...(suggestions.length > 0 && { suggestions }) } }));
  else {
    const message = visibleLine(withOwnCommand(error.message));
    const head = `${style.red('squad:')} ${message} ${style.dim(`(${error.code})`)}`;
    const next = suggestions.flatMap(line => wrap(visibleText(line), err.columns - 2));
    err.write(`${[...wrap(head, err.columns), ...next.map(line => `  ${line}`)].join('\n')}\n`);
  }
  return exitCodeOf(error.code);
}

/** Lines that warn of hidden characters before the user decides about a text; none if it has no such characters. */
export function hiddenWarningLines(
  text: string,
  where: string,
  { out, style }: Pick<CliContext, 'out' | 'style'>,
): string[] {
  const warning = hiddenWarning(text, where);
  return warning === null ? [] : wrap(warning, out.columns).map(style.yellow);
}
