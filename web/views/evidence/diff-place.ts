import type { DiffFile, DiffHunk, DiffLine } from './parse-diff.ts';

/** A line of a diff: on the right side the current line, on the left side the previous one. */
export interface DiffPlace {
  path: string;
  line: number;
  side: 'old' | 'new';
}

/** Name of the place in an address: `src/a.ts:R40`. */
export const placeName = ({ path, line, side }: DiffPlace): string =>
  `${path}:${side === 'new' ? 'R' : 'L'}${line}`;

/** Parses `#src/a.ts:R40` or `#src/a.ts`. Null if the text is not a place in a diff. */
export function placeInHash(hash: string): { path: string; line: number | null; side: 'old' | 'new' } | null {
  let name: string;
  try {
    name = decodeURIComponent(hash.replace(/^#/, ''));
  } catch {
    return null;
  }
  if (name === '' || name.startsWith('key=')) return null;
  const match = /^(.+):([LR])([1-9]\d{0,8})$/s.exec(name);
  if (!match) return { path: name, line: null, side: 'new' };
  return { path: match[1]!, line: Number(match[3]), side: match[2] === 'L' ? 'old' : 'new' };
}

export function placeOfLine(file: DiffFile, { oldLine, newLine }: DiffLine): DiffPlace | null {
  if (newLine !== null) return { path: file.path, line: newLine, side: 'new' };
  if (oldLine !== null) return { path: file.oldPath ?? file.path, line: oldLine, side: 'old' };
  return null;
}

/** Number of lines from which a file is folded, and total number of lines after which all files are folded. */
const LONG_FILE = 400;
const MAX_OPEN_LINES = 1_500;

export const rowsOf = (file: DiffFile): number =>
  file.hunks.reduce((sum, { lines }) => sum + lines.length + 1, 0);

/** Index of a place among the rows of its file, including hunk headers. Returns -1 if the file has no such row. */
export function rowOf(file: DiffFile, name: string): number {
  let row = 0;
  for (const { lines } of file.hunks) {
    row++;
    for (const line of lines) {
      const place = placeOfLine(file, line);
      if (place && placeName(place) === name) return row;
      row++;
    }
  }
  return -1;
}

/** Returns the lines of each hunk that are within these rows. */
export function partsOf(
  { hunks }: DiffFile,
  shown: { from: number; until: number },
): { hunk: DiffHunk; index: number; from: number; until: number; hasHead: boolean }[] {
  let start = 0;
  return hunks.flatMap((hunk, index) => {
    const head = start;
    start += hunk.lines.length + 1;
    if (start <= shown.from || head >= shown.until) return [];
    const from = Math.max(0, shown.from - head - 1);
    const until = Math.min(hunk.lines.length, shown.until - head - 1);
    return [{ hunk, index, from, until, hasHead: head >= shown.from }];
  });
}

/** Selects the files of a diff that are open at first. */
export function openAtFirst(files: readonly DiffFile[]): Set<string> {
  const open = new Set<string>();
  let left = MAX_OPEN_LINES;
  for (const file of files) {
    const rows = rowsOf(file);
    if (rows > LONG_FILE || rows > left) continue;
    left -= rows;
    open.add(file.path);
  }
  return open;
}
