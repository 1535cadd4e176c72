import type { CliContext } from '../context.ts';
import { sanitize } from './sanitize.ts';
import type { Style } from './style.ts';

/** A pipe gets it as it is; a screen gets nothing that could do something to it. */
export function showDiff(text: string, { out, style }: CliContext): void {
  const shown = out.isTTY ? sanitize(text) : text;
  const lines = out.color ? shown.split('\n').map(line => paint(line, style)) : [shown];
  out.write(lines.join('\n'));
}

function paint(line: string, style: Style): string {
  if (/^(diff |index |--- |\+\+\+ |new file |deleted file )/.test(line)) return style.bold(line);
  if (line.startsWith('+')) return style.green(line);
  if (line.startsWith('-')) return style.red(line);
  if (line.startsWith('@@')) return style.dim(line);
  return line.startsWith('#') ? style.yellow(line) : line;
}
