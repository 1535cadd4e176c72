import { visibleLine, visibleText } from '../../base/visible-text.ts';
import { diffFiles } from '../../schema/diff-files.ts';
import type { CliContext } from '../context.ts';
import { hiddenWarningLines } from '../terminal/hidden-warning.ts';
import { createStyle, type Style } from '../terminal/style.ts';

/** A pipe gets the diff as it is, so that it can be applied; a terminal shows every character. Warnings go to standard error. */
export function showDiff(text: string, { out, err, style }: CliContext): void {
  const shown = out.isTTY ? visibleText(text) : text;
  const lines = out.color ? shown.split('\n').map(line => paint(line, style)) : [shown];
  out.write(lines.join('\n'));
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
