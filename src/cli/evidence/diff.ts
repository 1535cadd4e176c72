import { spawnSync } from 'node:child_process';
import { diffFiles } from '../../base/diff-files.ts';
import { visibleLine, visibleText } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, hiddenWarningLines, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { createStyle, type Style } from '../terminal/style.ts';

/**
 * A pipe gets the diff unchanged, so that it can be applied; a terminal gets every character made visible. Warnings go
 * to standard error.
 */
export function showDiff(text: string, { out, err, style }: CliContext): void {
  const shown = out.isTTY ? visibleText(text) : text;
  const lines = out.color ? shown.split('\n').map(line => paint(line, style)) : [shown];
  const whole = lines.join('\n');
  if (!out.isTTY || !page(whole)) out.write(whole);
  const warning = { out: err, style: createStyle(err.color) };
  for (const { path, body } of diffFiles(text))
    for (const line of hiddenWarningLines(body, visibleLine(path), warning)) err.write(`${line}\n`);
}

function paint(line: string, style: Style): string {
  if (/^(diff |index |--- |\+\+\+ |new file |deleted file )/.test(line)) return style.bold(line);
  if (line.startsWith('+')) return style.green(line);
  if (line.startsWith('-')) return style.red(line);
  if (line.startsWith('@@')) return style.dim(line);
  return line.startsWith('#') ? style.yellow(line) : line;
}

/**
 * Shows text in the pager that git uses, with the options that git gives `less`: a text that fits on the screen stays
 * there. False if there is no pager.
 */
function page(text: string): boolean {
  const { GIT_PAGER, PAGER } = process.env;
  const pager = GIT_PAGER ?? PAGER ?? 'less';
  if (text === '' || pager === '' || pager === 'cat') return false;
  const { status, signal } = spawnSync(pager, {
    shell: true,
    input: text,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', LV: '-c', ...process.env },
  });
  return signal !== null || (status !== NOT_EXECUTABLE && status !== NOT_FOUND);
}

/** Exit codes with which a shell reports that it could not start a program. */
const [NOT_EXECUTABLE, NOT_FOUND] = [126, 127];

type Diff = Output<'diff_run'>;

/** `squad diff RUN`: the changes since the run started. The diff goes to standard output, remarks to standard error. */
export async function diffCommand(
  run: string,
  { stat = false }: { stat?: boolean },
  context: CliContext,
): Promise<number> {
  const diff = await HubClient.ask({}, 'diff_run', { run, stat });
  if (context.json || stat) printResult(context, diff, () => statLines(diff));
  else showDiff(diff.text ?? '', context);
  if (!context.json) printNotes(context, remarks(diff, stat), 'dim');
  return EXIT.done;
}

function remarks({ runId, isOver, branch, text, isTruncated, files, notes }: Diff, stat: boolean): string[] {
  const isEmpty = stat ? files?.length === 0 : text === '';
  return [
    isEmpty ? `No changes since ${runId} started.` : null,
    isOver ? null : `${runId} is still running: these are its changes so far.`,
    isOver && !isEmpty && branch === null
      ? 'The diff compares with the folder as it is now, so it includes changes made after the run.'
      : null,
    isTruncated ? withOwnCommand('The diff is truncated; `squad diff --stat` lists every file.') : null,
    ...notes.map(note => `Note: ${note}.`),
  ].filter(line => line !== null);
}

function statLines({ files, lines }: Diff): string[] {
  if (files === null || files.length === 0) return [];
  const figures = lines ? `, +${lines.insertions} −${lines.deletions} lines` : '';
  return [
    ...files.map(
      ({ status, path, isOutside }) =>
        `${status} ${visibleLine(path)}${isOutside ? ' (outside its folder)' : ''}`,
    ),
    `${files.length} ${files.length === 1 ? 'file' : 'files'} changed${figures}`,
  ];
}
