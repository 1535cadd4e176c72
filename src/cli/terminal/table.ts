import type { Style } from './style.ts';
import { displayWidth, padEnd, padStart, truncate } from './width.ts';

export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** Width to which the column may shrink if the screen is too narrow. */
  shrinkTo?: number;
}

const GAP = '  ';

/** Aligned columns below a dim title line. Cells are cut to fit `width`; if that is not enough, the line is cut. */
export function formatTable(columns: Column[], rows: string[][], width: number, style: Style): string[] {
  const natural = columns.map((column, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, displayWidth(row[index] ?? '')),
      displayWidth(column.title),
    ),
  );
  const widths = fitted(columns, natural, width);
  const line = (cells: string[]) =>
    columns
      .map(({ align }, index) => {
        const room = widths[index] ?? 0;
        const cell = truncate(cells[index] ?? '', room);
        return align === 'right' ? padStart(cell, room) : padEnd(cell, room);
      })
      .join(GAP)
      .trimEnd();
  const lines = rows.map(row => truncate(line(row), width));
  return [style.dim(truncate(line(columns.map(column => column.title)), width)), ...lines];
}

/** Shrinks the widest column that can still shrink, one step at a time. */
function fitted(columns: Column[], natural: number[], width: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, value) => sum + value, GAP.length * (widths.length - 1));
  while (total() > width) {
    const room = columns.map(({ shrinkTo }, index) =>
      shrinkTo === undefined ? 0 : (widths[index] ?? 0) - shrinkTo,
    );
    if (Math.max(...room) <= 0) break;
    const candidates = widths.map((value, index) => ((room[index] ?? 0) > 0 ? value : -1));
    const widest = candidates.indexOf(Math.max(...candidates));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
