import { type MarkdownLine, titleOf } from '../../base/markdown-lines.ts';
import { type BacklogGroup, type BacklogItem, backlogIn } from './backlog.ts';
import { plainWords, teamLines } from './team-markdown.ts';

/** Where an item stands: from its line up to `end`, with its notes and the items below it. */
export interface ItemPlace {
  item: BacklogItem;
  group: BacklogGroup;
  first: number;
  end: number;
  indent: number;
}

export interface BacklogPlaces {
  /** Each with the line end it has. */
  lines: string[];
  items: ItemPlace[];
  /** `end`: the line after the last that has something in it. */
  groups: { group: BacklogGroup; end: number }[];
}

/** The items of a backlog and the lines of the file that they are: for changing those and no other. */
export function backlogPlaces(text: string): BacklogPlaces {
  const lines = text.split(/(?<=\n|\r(?!\n))/);
  const read = teamLines(text);
  const numberOf = new Map<BacklogItem, number>();
  const numbers = lineNumbers(read, lines);
  const { groups } = backlogIn(read, (item, line) => numberOf.set(item, numbers.get(line) ?? -1));
  const items = groups.flatMap(group =>
    group.items.map(item => {
      const first = numberOf.get(item)!;
      const indent = indentOf(lines[first] ?? '');
      return { item, group, first, indent, end: endOf(lines, first, indent) };
    }),
  );
  return { lines, items, groups: groupPlaces(read, numbers, lines, groups) };
}

function groupPlaces(
  read: readonly MarkdownLine[],
  numbers: ReadonlyMap<MarkdownLine, number>,
  lines: readonly string[],
  groups: readonly BacklogGroup[],
): BacklogPlaces['groups'] {
  const headings = read.filter(line => line.kind === 'heading' && numbers.has(line));
  let from = 0;
  return groups.flatMap(group => {
    const at = headings.findIndex(
      (line, index) => index >= from && group.title !== null && plainWords(titleOf(line)) === group.title,
    );
    if (at < 0) return [];
    from = at + 1;
    const next = headings[at + 1];
    const begin = numbers.get(headings[at]!)!;
    let end = next ? numbers.get(next)! : lines.length;
    while (end > begin + 1 && lines[end - 1]!.trim() === '') end--;
    return { group, end };
  });
}

/** What was read stands in the file in the same order, line by line; an underlined heading is two lines there. */
function lineNumbers(read: readonly MarkdownLine[], lines: readonly string[]): Map<MarkdownLine, number> {
  const found = new Map<MarkdownLine, number>();
  let at = read.filter(({ kind }) => kind === 'head').length;
  for (const line of read) {
    if (line.kind === 'head' || line.kind === 'blank') continue;
    const isIt = (source: string) =>
      line.kind === 'heading' ? isHeading(source, titleOf(line)) : bare(source) === line.text;
    let next = at;
    while (next < lines.length && !isIt(lines[next]!)) next++;
    if (next === lines.length) continue;
    at = next + 1;
    found.set(line, next);
  }
  return found;
}

const isHeading = (source: string, title: string): boolean =>
  source
    .replace(/^ {0,3}#{1,6}(?=\s|$)/, '')
    .replace(/\s#+\s*$/, '')
    .trim() === title;

function endOf(lines: readonly string[], first: number, indent: number): number {
  let end = first + 1;
  for (let at = end; at < lines.length; at++) {
    if (lines[at]!.trim() === '') continue;
    if (indentOf(lines[at]!) <= indent) break;
    end = at + 1;
  }
  return end;
}

const bare = (line: string): string => line.replace(/[\r\n]+$/, '');
const indentOf = (line: string): number => line.length - line.trimStart().length;
