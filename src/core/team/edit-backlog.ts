import { SquadError } from '../../schema/error.ts';
import { type BacklogGroup, type BacklogItem, indentOf, locateBacklog, readBacklog } from './backlog.ts';

/** An item's lines, from `first` up to `end`, including its notes and the items below it. */
interface ItemPlace {
  item: BacklogItem;
  group: BacklogGroup;
  first: number;
  end: number;
  indent: number;
}

interface BacklogPlaces {
  /** Lines of the file, each with its line end. */
  lines: string[];
  items: ItemPlace[];
  /** Groups of the backlog. `end` is the line after the last non-blank line of the group. */
  groups: { group: BacklogGroup; end: number }[];
}

function backlogPlaces(text: string): BacklogPlaces {
  const lines = text.split(/(?<=\n|\r(?!\n))/);
  const located = locateBacklog(text).groups;
  const items = located.flatMap(({ group, itemLines }) =>
    group.items.map((item, at) => {
      const first = itemLines[at]!;
      const indent = indentOf(lines[first]!);
      return { item, group, first, indent, end: endOf(lines, first, indent) };
    }),
  );
  const groups = located
    .filter(({ group }) => group.title !== null)
    .map(({ group, start, end }) => {
      let last = Math.min(end, lines.length);
      while (last > start + 1 && lines[last - 1]!.trim() === '') last--;
      return { group, end: last };
    });
  return { lines, items, groups };
}

function endOf(lines: readonly string[], first: number, indent: number): number {
  let end = first + 1;
  for (let at = end; at < lines.length; at++) {
    if (lines[at]!.trim() === '') continue;
    if (indentOf(lines[at]!) <= indent) break;
    end = at + 1;
  }
  return end;
}

/** Items are numbered from 1 in the order of the file, including done ones. */
export type BacklogEdit =
  | { action: 'add'; title: string; owner?: string; under?: string }
  | { action: 'done' | 'reopen' | 'up' | 'down'; number: number }
  | { action: 'move'; number: number; before: number };

interface EditedBacklog {
  text: string;
  /** Number of the edited item after the edit. */
  number: number;
  item: BacklogItem;
}

const NEW_FILE = '# Backlog\n';
const HEADING = '## Next';

/**
 * The text with one change; every other line stays the same, byte for byte. Throws BACKLOG_ITEM_UNKNOWN,
 * BACKLOG_CHANGED and INVALID_INPUT.
 */
export function editBacklog(before: string | null, edit: BacklogEdit): EditedBacklog {
  const text = before ?? NEW_FILE;
  const places = backlogPlaces(text);
  const { lines, order } = edit.action === 'add' ? added(places, edit) : changed(places, edit);
  const after = lines.join('');
  const wanted = order.map(({ item }) => item);
  const found = itemsOf(after);
  // An edit whose result differs from the intended one is refused. Markdown that this code does not understand must not
  // lose a line.
  if (!isSame(found, wanted) || !isSame(textsOf(after), textsOf(text), edit.action === 'add'))
    throw new SquadError(
      'BACKLOG_CHANGED',
      'This change would damage backlog.md: it has Markdown that Squad cannot edit safely',
      {
        suggestions: ['Make the change in an editor. Nothing was written.'],
      },
    );
  const number = order.findIndex(({ isEdited }) => isEdited) + 1;
  return { text: after, number, item: found[number - 1]! };
}

interface Changed {
  lines: string[];
  /** The items that must be in the changed file, in this order. */
  order: { item: BacklogItem; isEdited: boolean }[];
}

function changed(places: BacklogPlaces, edit: Exclude<BacklogEdit, { action: 'add' }>): Changed {
  const place = placeOf(places, edit.number);
  if (edit.action === 'done' || edit.action === 'reopen')
    return marked(places, place, edit.action === 'done');
  if (edit.action === 'move') return moved(places, place, placeOf(places, edit.before), place);
  const beside = siblingOf(places, place, edit.action);
  if (!beside) {
    const end = edit.action === 'up' ? 'first' : 'last';
    throw new SquadError('INVALID_INPUT', `"${place.item.title}" is already the ${end} under its heading`, {
      suggestions: ['`squad backlog move N --before M` moves it to another place.'],
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
      isEdited: each === place,
    })),
  };
}

/** Moves `block` before `target`. Blank lines between items stay between items. */
function moved(places: BacklogPlaces, block: ItemPlace, target: ItemPlace, about: ItemPlace): Changed {
  const { lines, items } = places;
  if (target.first >= block.first && target.first < block.end)
    throw new SquadError(
      'INVALID_INPUT',
      `"${block.item.title}" cannot be moved before itself or before an item nested below it`,
      {
        suggestions: ['`squad backlog` shows the numbers of the items.'],
      },
    );
  if (target.indent !== block.indent)
    throw new SquadError(
      'INVALID_INPUT',
      'The two items are at different levels, so one cannot be moved before the other',
      {
        suggestions: ['Choose an item at the same level, or edit .squad/backlog.md in an editor.'],
      },
    );
  const gapBefore = blanks(lines, block.first, -1);
  const isAfterItem = items.some(({ end }) => end === block.first - gapBefore);
  const gapAfter = isAfterItem ? 0 : blanks(lines, block.end, 1);
  const [from, to] = [block.first - (isAfterItem ? gapBefore : 0), block.end + gapAfter];
  const own = lines.slice(block.first, block.end);
  const gap = isAfterItem ? lines.slice(from, block.first) : lines.slice(block.end, to);
  const at = target.first;
  const inserted = [...withLineEnd(own, eolOf(lines)), ...gap];
  const result =
    at < from
      ? [...lines.slice(0, at), ...inserted, ...lines.slice(at, from), ...lines.slice(to)]
      : [...lines.slice(0, from), ...lines.slice(to, at), ...inserted, ...lines.slice(at)];
  const isIn = (each: ItemPlace) => each.first >= block.first && each.first < block.end;
  const rest = items.filter(each => !isIn(each));
  const order = rest.toSpliced(rest.indexOf(target), 0, ...items.filter(isIn));
  return { lines: result, order: order.map(each => ({ item: each.item, isEdited: each === about })) };
}

function added(places: BacklogPlaces, edit: BacklogEdit & { action: 'add' }): Changed {
  const { lines, items, groups } = places;
  const title = edit.title.trim();
  if (title === '' || /\p{Cc}/u.test(title))
    throw new SquadError('INVALID_INPUT', 'The title of an item must be text on one line', {
      suggestions: ['For example: `squad backlog add "Retry failed uploads"`'],
    });
  const into = groupFor(places, edit.under);
  const siblings = items.filter(({ group, indent }) => group === into && indent <= 3);
  const last = siblings.at(-1);
  const eol = eolOf(lines);
  const owner = edit.owner === undefined ? '' : ` @${edit.owner.replace(/^@/, '')}`;
  const line = `${bulletAfter(last && lines[last.first]!)} [ ] ${title}${owner}${eol}`;
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
    lines: [...withLineEnd(lines.slice(0, at), eol), ...block, ...lines.slice(at)],
    order: items
      .map(each => ({ item: each.item, isEdited: false }))
      .toSpliced(index, 0, { item, isEdited: true }),
  };
}

/** Heading for a new item: the named heading, otherwise the first with an open item, or the first. */
function groupFor({ groups, items }: BacklogPlaces, under: string | undefined) {
  if (under === undefined) {
    const open = items.find(({ item, indent }) => !item.done && indent <= 3)?.group;
    return open ?? groups[0]?.group ?? items[0]?.group;
  }
  const found = groups.find(({ group }) => group.title?.toLowerCase() === under.trim().toLowerCase());
  if (found) return found.group;
  const titles = groups.flatMap(({ group }) => group.title ?? []);
  throw new SquadError('BACKLOG_ITEM_UNKNOWN', `backlog.md has no heading "${under.trim()}"`, {
    suggestions: [
      titles.length > 0 ? `Its headings: ${titles.slice(0, 10).join(', ')}.` : 'It has no headings.',
    ],
  });
}

function placeOf({ items }: BacklogPlaces, number: number): ItemPlace {
  const place = items[number - 1];
  if (place) return place;
  throw new SquadError('BACKLOG_ITEM_UNKNOWN', `backlog.md has no item ${number}`, {
    suggestions: [`It has ${items.length} items; \`squad backlog\` shows their numbers.`],
  });
}

/** The next item of the same level under the same heading and the same parent. */
function siblingOf(
  { items }: BacklogPlaces,
  place: ItemPlace,
  direction: 'up' | 'down',
): ItemPlace | undefined {
  const at = items.indexOf(place);
  const onward = direction === 'up' ? items.slice(0, at).reverse() : items.slice(at + 1);
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

/** Adds the line end that the last line of a file may lack. */
function withLineEnd(lines: string[], eol: string): string[] {
  const last = lines.at(-1);
  if (last === undefined || last === '' || /[\r\n]$/.test(last)) return lines;
  return lines.with(-1, last + eol);
}

const eolOf = (lines: readonly string[]): string => /\r?\n$|\r$/.exec(lines[0] ?? '')?.[0] ?? '\n';
const itemsOf = (text: string): BacklogItem[] => readBacklog(text).groups.flatMap(({ items }) => items);
const textsOf = (text: string) => readBacklog(text).groups.map(({ title, text }) => ({ title, text }));

/** Whether both lists are equal. With `mayGrow`, `found` may have one more heading at its end. */
function isSame(found: readonly object[], wanted: readonly object[], mayGrow = false): boolean {
  const compared = mayGrow ? found.slice(0, Math.max(wanted.length, found.length - 1)) : found;
  return JSON.stringify(compared) === JSON.stringify(wanted);
}
