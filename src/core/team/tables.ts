import type { MarkdownLine } from '../../base/markdown-lines.ts';
import { isCode } from './team-markdown.ts';

export interface MarkdownTable {
  columns: string[];
  rows: string[][];
}

const DELIMITER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** The tables among some lines, cells as they are written. */
export function tablesIn(lines: readonly MarkdownLine[]): MarkdownTable[] {
  const tables: MarkdownTable[] = [];
  for (let at = 1; at < lines.length; at++) {
    const [above, line] = [lines[at - 1]!, lines[at]!];
    const isHead = !isCode(line) && line.text.includes('|') && line.text.length < 2_000;
    if (!isHead || !above.text.includes('|') || !DELIMITER.test(line.text)) continue;
    const rows: string[][] = [];
    for (; at + 1 < lines.length && lines[at + 1]!.text.includes('|'); at++)
      rows.push(cellsOf(lines[at + 1]!.text));
    tables.push({ columns: cellsOf(above.text), rows });
  }
  return tables;
}

/** A bar that is escaped or inside code is part of its cell. */
function cellsOf(line: string): string[] {
  const cells = [''];
  let isInCode = false;
  for (let at = 0; at < line.length; at++) {
    const sign = line[at]!;
    if (sign === '\\' && line[at + 1] === '|') {
      cells[cells.length - 1] += '|';
      at++;
      continue;
    }
    if (sign === '`') isInCode = !isInCode && line.indexOf('`', at + 1) >= 0;
    if (sign === '|' && !isInCode) cells.push('');
    else cells[cells.length - 1] += sign;
  }
  const trimmed = cells.map(cell => cell.trim());
  if (trimmed[0] === '' && line.trimStart().startsWith('|')) trimmed.shift();
  if (trimmed.at(-1) === '' && trimmed.length > 1) trimmed.pop();
  return trimmed;
}
