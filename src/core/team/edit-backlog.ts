import { type MarkdownLine, titleOf } from '../../base/markdown.ts';
import { SquadError } from '../../schema/error.ts';
import { type BacklogGroup, type BacklogItem, backlogIn, readBacklog } from './backlog.ts';
import { plainWords, teamLines } from './team-markdown.ts';

/** Where an item stands: from its line up to `end`, with its notes and the items below it. */
interface ItemPlace {
  item: BacklogItem;
  group: BacklogGroup;
  first: number;
  end: number;
  indent: number;
}

interface BacklogPlaces {
  /** Each with the line end it has. */
  lines: string[];
  items: ItemPlace[];
  /** `end`: the line after the last that has something in it. */
  groups: { group: BacklogGroup; end: number }[];
}

/** The items of a backlog and the lines of the file that they are: for changing those and no other. */
function backlogPlaces(text: string): BacklogPlaces {
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

/** What a person would do to the file in an editor. Items are numbered from 1 in the order of the file, done ones too. */
export type BacklogEdit =
  | { action: 'add'; title: string; owner?: string; under?: string }
  | { action: 'done' | 'reopen' | 'up' | 'down'; number: number }
  | { action: 'move'; number: number; before: number };

interface EditedBacklog {
  text: string;
  /** Of the item that it was about, as it is now. */
  number: number;
  item: BacklogItem;
}

const NEW_FILE = '# Backlog\n';
const HEADING = '## Next';

/** The text with that one change: every line it is not about stays as it was, to the byte. Throws BACKLOG_ITEM_UNKNOWN, BACKLOG_CHANGED and INVALID_INPUT. */
export function editBacklog(before: string | null, edit: BacklogEdit): EditedBacklog {
  const text = before ?? NEW_FILE;
  const places = backlogPlaces(text);
  const { lines, order } = edit.action === 'add' ? added(places, edit) : changed(places, edit);
  const after = lines.join('');
  const wanted = order.map(({ item }) => item);
  const found = itemsOf(after);
  // A way of writing that this code does not know must not cost anybody a line.
  if (!isSame(found, wanted) || !isSame(textsOf(after), textsOf(text), edit.action === 'add'))
    throw new SquadError('BACKLOG_CHANGED', 'backlog.md is written in a way that this change would spoil', {
      suggestions: ['Make the change in an editor. Nothing was written.'],
    });
  const number = order.findIndex(({ isIt }) => isIt) + 1;
  return { text: after, number, item: found[number - 1]! };
}

interface Changed {
  lines: string[];
  /** The items as they are to be read afterwards. */
  order: { item: BacklogItem; isIt: boolean }[];
}

function changed(places: BacklogPlaces, edit: Exclude<BacklogEdit, { action: 'add' }>): Changed {
  const place = placeOf(places, edit.number);
  if (edit.action === 'done' || edit.action === 'reopen')
    return marked(places, place, edit.action === 'done');
  if (edit.action === 'move') return moved(places, place, placeOf(places, edit.before), place);
  const beside = siblingOf(places, place, edit.action);
  if (!beside) {
    const end = edit.action === 'up' ? 'first' : 'last';
    throw new SquadError('INVALID_INPUT', `"${place.item.title}" is the ${end} under its heading already`, {
      suggestions: ['`squad backlog move N --before M` takes it to another place.'],
    });
  }
  return edit.action === 'up' ? moved(places, place, beside, place) : moved(places, beside, place, place);
}

function marked({ lines, items }: BacklogPlaces, place: ItemPlace, done: boolean): Changed {
  const line = lines[place.first]!.replace(/\[[^\]]\]/, done ? '[x]' : '[ ]');
  return {
    lines: lines.with(place.first, line),
    order: items.map(each => ({
      item: each === place ? { ...each.item, done } : each.item,
      isIt: each === place,
    })),
  };
}

/** `block` stands before `target` afterwards; blank lines between items stay between items. */
function moved(places: BacklogPlaces, block: ItemPlace, target: ItemPlace, about: ItemPlace): Changed {
  const { lines, items } = places;
  if (target.first >= block.first && target.first < block.end)
    throw new SquadError(
      'INVALID_INPUT',
      `"${block.item.title}" cannot go before itself or what is below it`,
      {
        suggestions: ['`squad backlog` shows the numbers.'],
      },
    );
  if (target.indent !== block.indent)
    throw new SquadError(
      'INVALID_INPUT',
      'One of the two is an item below another: they have no common order',
      {
        suggestions: ['Move it before an item of the same level, or in an editor.'],
      },
    );
  const gapBefore = blanks(lines, block.first, -1);
  const isAfterItem = items.some(({ end }) => end === block.first - gapBefore);
  const gapAfter = isAfterItem ? 0 : blanks(lines, block.end, 1);
  const [from, to] = [block.first - (isAfterItem ? gapBefore : 0), block.end + gapAfter];
  const own = lines.slice(block.first, block.end);
  const gap = isAfterItem ? lines.slice(from, block.first) : lines.slice(block.end, to);
  const at = target.first;
  const inserted = [...ended(own, eolOf(lines)), ...gap];
  const result =
    at < from
      ? [...lines.slice(0, at), ...inserted, ...lines.slice(at, from), ...lines.slice(to)]
      : [...lines.slice(0, from), ...lines.slice(to, at), ...inserted, ...lines.slice(at)];
  const isIn = (each: ItemPlace) => each.first >= block.first && each.first < block.end;
  const rest = items.filter(each => !isIn(each));
  const order = rest.toSpliced(rest.indexOf(target), 0, ...items.filter(isIn));
  return { lines: result, order: order.map(each => ({ item: each.item, isIt: each === about })) };
}

function added(places: BacklogPlaces, edit: BacklogEdit & { action: 'add' }): Changed {
  const { lines, items, groups } = places;
  const words = edit.title.trim();
  if (words === '' || /\p{Cc}/u.test(words))
    throw new SquadError('INVALID_INPUT', 'The title of an item is words on one line', {
      suggestions: ['squad backlog add "Retry failed uploads"'],
    });
  const into = groupFor(places, edit.under);
  const siblings = items.filter(({ group, indent }) => group === into && indent <= 3);
  const last = siblings.at(-1);
  const eol = eolOf(lines);
  const owner = edit.owner === undefined ? '' : ` @${edit.owner.replace(/^@/, '')}`;
  const line = `${bulletAfter(last && lines[last.first]!)} [ ] ${words}${owner}${eol}`;
  const end = groups.find(({ group }) => group === into)?.end;
  const [at, block] = last
    ? [last.end, [line]]
    : end !== undefined
      ? [end, [eol, line, ...((lines[end] ?? '').trim() === '' ? [] : [eol])]]
      : [lines.length, [eol, HEADING + eol, eol, line]];
  const item = itemsOf(line)[0]!;
  const index = last
    ? items.findLastIndex(({ first }) => first < at) + 1
    : items.filter(({ first }) => first < at).length;
  return {
    lines: [...ended(lines.slice(0, at), eol), ...block, ...lines.slice(at)],
    order: items.map(each => ({ item: each.item, isIt: false })).toSpliced(index, 0, { item, isIt: true }),
  };
}

/** The heading that was named; otherwise the first that has something to do, or the first. */
function groupFor({ groups, items }: BacklogPlaces, under: string | undefined) {
  if (under === undefined) {
    const open = items.find(({ item, indent }) => !item.done && indent <= 3)?.group;
    return open ?? groups[0]?.group ?? items[0]?.group;
  }
  const found = groups.find(({ group }) => group.title?.toLowerCase() === under.trim().toLowerCase());
  if (found) return found.group;
  const titles = groups.flatMap(({ group }) => group.title ?? []);
  throw new SquadError('BACKLOG_ITEM_UNKNOWN', `backlog.md has no heading "${under.trim()}"`, {
    suggestions: [titles.length > 0 ? `It has: ${titles.slice(0, 10).join(', ')}.` : 'It has no headings.'],
  });
}

function placeOf({ items }: BacklogPlaces, number: number): ItemPlace {
  const place = items[number - 1];
  if (place && place.first >= 0) return place;
  throw new SquadError('BACKLOG_ITEM_UNKNOWN', `backlog.md has no item ${number}`, {
    suggestions: [`It has ${items.length}; \`squad backlog\` shows their numbers.`],
  });
}

/** The next of the same level under the same heading and the same item. */
function siblingOf({ items }: BacklogPlaces, place: ItemPlace, way: 'up' | 'down'): ItemPlace | undefined {
  const at = items.indexOf(place);
  const onward = way === 'up' ? items.slice(0, at).reverse() : items.slice(at + 1);
  const [found] = onward.filter(({ indent }) => indent <= place.indent);
  return found?.group === place.group && found.indent === place.indent ? found : undefined;
}

function bulletAfter(line: string | undefined): string {
  const [, indent = '', mark = '-'] = /^(\s*)([-*+]|\d{1,9}[.)])\s/.exec(line ?? '') ?? [];
  return indent + mark.replace(/^\d+/, digits => String(Number(digits) + 1));
}

function blanks(lines: readonly string[], from: number, step: 1 | -1): number {
  let count = 0;
  let at = step === 1 ? from : from - 1;
  while (lines[at] !== undefined && lines[at]!.trim() === '') {
    count++;
    at += step;
  }
  return count;
}

/** The last line of a file may have no end. */
function ended(lines: string[], eol: string): string[] {
  const last = lines.at(-1);
  if (last === undefined || last === '' || /[\r\n]$/.test(last)) return lines;
  return lines.with(-1, last + eol);
}

const eolOf = (lines: readonly string[]): string => /\r?\n$|\r$/.exec(lines[0] ?? '')?.[0] ?? '\n';
const itemsOf = (text: string): BacklogItem[] => readBacklog(text).groups.flatMap(({ items }) => items);
const textsOf = (text: string) => readBacklog(text).groups.map(({ title, text }) => ({ title, text }));

/** With `mayGrow`, a heading more at the end is as it should be. */
function isSame(found: readonly object[], wanted: readonly object[], mayGrow = false): boolean {
  const compared = mayGrow ? found.slice(0, Math.max(wanted.length, found.length - 1)) : found;
  return JSON.stringify(compared) === JSON.stringify(wanted);
}
