import type { MarkdownLine } from '../../base/markdown.ts';
import { isCode, MAX_ENTRIES, MAX_NOTES, teamSections, withoutMarkup } from './team-markdown.ts';

interface MarkdownTable {
  columns: string[];
  rows: string[][];
}

const DELIMITER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function tablesIn(lines: readonly MarkdownLine[]): MarkdownTable[] {
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

/** Splits a table row into cells. An escaped bar, or a bar inside code, is part of its cell. */
function cellsOf(line: string): string[] {
  const cells = [''];
  let isInCode = false;
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!;
    if (char === '\\' && line[at + 1] === '|') {
      cells[cells.length - 1] += '|';
      at++;
      continue;
    }
    if (char === '`') isInCode = !isInCode && line.indexOf('`', at + 1) >= 0;
    if (char === '|' && !isInCode) cells.push('');
    else cells[cells.length - 1] += char;
  }
  const trimmed = cells.map(cell => cell.trim());
  if (trimmed[0] === '' && line.trimStart().startsWith('|')) trimmed.shift();
  if (trimmed.at(-1) === '' && trimmed.length > 1) trimmed.pop();
  return trimmed;
}

export interface Member {
  name: string;
  role: string | null;
  /** Path as written in the table. */
  charter: string | null;
  /** Status without its icon. */
  status: string | null;
  /** Name of the member's folder in `agents/`. */
  agent: string;
  /** Heading above the member's table. */
  group: string | null;
  /** Values of the other columns of the table. */
  more?: Record<string, string>;
}

export interface Roster {
  members: Member[];
  notes: string[];
}

type Column = 'name' | 'role' | 'charter' | 'status';
const COLUMNS: Readonly<Record<string, Column>> = {
  name: 'name',
  member: 'name',
  agent: 'name',
  role: 'role',
  charter: 'charter',
  status: 'status',
};

/** The members in all tables of `team.md` that have the columns Name and Role, in any order. */
export function readRoster(text: string): Roster {
  const members: Member[] = [];
  const notes: string[] = [];
  let tables = 0;
  for (const { title, own } of teamSections(text))
    for (const table of tablesIn(own)) {
      const columns = columnsOf(table);
      if (!columns.includes('name') || !columns.includes('role')) continue;
      tables++;
      for (const row of table.rows) {
        const member = memberOf(row, columns, table, withoutMarkup(title) || null);
        if (member) members.push(member);
        else if (notes.length < MAX_NOTES)
          notes.push(`A row of the table under "${title}" has no name: ${row.join(' | ').slice(0, 100)}`);
      }
    }
  if (tables === 0)
    notes.push(
      'team.md has no table of members: it needs the columns Name and Role, and may have Charter and Status.',
    );
  if (members.length > MAX_ENTRIES) {
    notes.push(`team.md has ${members.length} members; only the first ${MAX_ENTRIES} are read.`);
    members.length = MAX_ENTRIES;
  }
  return { members, notes };
}

/** If two columns have the same name, the first counts. */
function columnsOf({ columns }: MarkdownTable): (Column | null)[] {
  const taken = new Set<Column>();
  return columns.map(title => {
    const key = withoutMarkup(title).toLowerCase();
    const column = Object.hasOwn(COLUMNS, key) ? COLUMNS[key]! : null;
    if (column === null || taken.has(column)) return null;
    taken.add(column);
    return column;
  });
}

function memberOf(
  row: readonly string[],
  columns: readonly (Column | null)[],
  table: MarkdownTable,
  group: string | null,
): Member | null {
  const known: Partial<Record<Column, string>> = {};
  const more: Record<string, string> = {};
  row.forEach((cell, at) => {
    const column = columns[at];
    const value = withoutMarkup(cell);
    if (column) known[column] = column === 'charter' ? charterIn(cell) : value;
    else if (isFilled(value)) more[withoutMarkup(table.columns[at] ?? '') || `column ${at + 1}`] = value;
  });
  const name = known.name ?? '';
  if (!isFilled(name)) return null;
  const charter = isFilled(known.charter) ? known.charter : null;
  return {
    name,
    role: isFilled(known.role) ? known.role : null,
    charter,
    status: isFilled(known.status) ? withoutIcon(known.status) : null,
    agent: folderIn(charter) ?? folderName(name),
    group,
    ...(Object.keys(more).length > 0 && { more }),
  };
}

/** A dash means an empty cell. */
const isFilled = (text: string | undefined): text is string =>
  text !== undefined && text !== '' && !/^[-\u2013\u2014]+$/.test(text);

/** Path of the charter; from a link, its target. */
const charterIn = (cell: string): string => withoutMarkup(/\]\(([^()\s]{1,500})\)/.exec(cell)?.[1] ?? cell);

const withoutIcon = (text: string): string => text.replace(/^[^\p{L}\p{N}]+/u, '').trim() || text;

const folderIn = (charter: string | null): string | null =>
  /(?:^|\/)agents\/([^/]+?)(?:\/[^/]+|\.md)$/.exec(charter ?? '')?.[1] ?? null;

const folderName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
