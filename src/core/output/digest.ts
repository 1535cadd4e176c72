/** A text that may be too long to show: its beginning, its end, and its size. */
export interface Sample {
  head: string;
  /** The end of the text. Empty when `head` is the whole text. */
  tail: string;
  bytes: number;
  /** Describes the call that reads the text from this byte on. */
  readOn?(offset: number): string;
}

export const EMPTY: Sample = { head: '', tail: '', bytes: 0 };

/** Length of a string in JSON, without quotes. */
export const jsonLength = (text: string): number => JSON.stringify(text).length - 2;

/** Share of a cut text that its end gets, because an agent reports its result last. */
const TAIL_SHARE = 0.7;

export interface Cut {
  text: string;
  truncated: boolean;
  /** True if the text is cut and there was no room for a note that says how to read the rest. */
  isUnmarked?: true;
}

/**
 * Cuts texts so that together they have at most `budget` characters of JSON. Short texts stay whole, and the space they
 * do not need goes to longer ones.
 */
export function fitToLength(samples: Sample[], budget: number): Cut[] {
  const wants = samples.map(sample => (sample.tail ? Number.POSITIVE_INFINITY : jsonLength(sample.head)));
  const shares = share(wants, Math.max(0, budget));
  return samples.map((sample, i) => cut(sample, shares[i] ?? 0));
}

/**
 * The texts of one item in a list. `handles` is the length of the hints that say how to read the rest of a cut text,
 * in characters of JSON.
 */
export interface TextItem {
  samples: Sample[];
  handles: number;
}

/** Minimum number of characters that an item keeps of each cut text, on average. */
const LEAST_TEXT = 300;

/**
 * Minimum number of characters of JSON that an item needs: its whole texts if they are short, otherwise a part of each
 * text and the hints how to read the rest.
 */
export const leastLength = ({ samples, handles }: TextItem): number =>
  Math.min(wholeLength(samples), LEAST_TEXT * samples.length + handles);

/**
 * Like `fitToLength`, for items that need handles only when one of their texts is cut: space for unneeded handles goes
 * to the texts. An item that is whole at its minimum length stays whole.
 */
export function fitItems(items: TextItem[], budget: number): Cut[][] {
  const cuts: Cut[][] = items.map(({ samples }) =>
    samples.map(({ head }) => ({ text: head, truncated: false })),
  );
  if (total(items, ({ samples }) => wholeLength(samples)) <= budget) return cuts;
  const isTight = total(items, leastLength) > budget;
  let long = items.flatMap((item, at) =>
    isTight || leastLength(item) < wholeLength(item.samples) ? [at] : [],
  );
  for (;;) {
    const others = items.filter((_, at) => !long.includes(at));
    const taken = total(others, ({ samples }) => wholeLength(samples));
    const ofHandles = total(long, at => items[at]!.handles);
    const samples = long.flatMap(at => items[at]!.samples);
    const fitted = fitToLength(samples, budget - taken - ofHandles);
    for (const at of long) cuts[at] = fitted.splice(0, items[at]!.samples.length);
    const stillLong = long.filter(at => cuts[at]!.some(({ truncated }) => truncated));
    if (stillLong.length === long.length) return cuts;
    long = stillLong;
  }
}

const total = <T>(list: T[], figure: (item: T) => number): number =>
  list.reduce((sum, item) => sum + figure(item), 0);

const wholeLength = (samples: Sample[]): number =>
  total(samples, ({ head, tail }) => (tail ? Number.POSITIVE_INFINITY : jsonLength(head)));

/** Returns as many items from the start of a list as fit into `budget` characters of JSON. */
export function firstThatFit<T>(items: T[], budget: number): T[] {
  let used = 0;
  const end = items.findIndex(item => {
    used += JSON.stringify(item).length + 1;
    return used > budget;
  });
  return end < 0 ? items : items.slice(0, end);
}

function share(wants: number[], budget: number): number[] {
  const shares = wants.map(() => 0);
  const order = wants.map((_, i) => i).sort((a, b) => wants[a]! - wants[b]!);
  let left = budget;
  order.forEach((index, done) => {
    const fair = Math.floor(left / (order.length - done));
    shares[index] = Math.min(wants[index]!, fair);
    left -= shares[index]!;
  });
  return shares;
}

function cut(whole: Sample, budget: number): Cut {
  if (!whole.tail && jsonLength(whole.head) <= budget) return { text: whole.head, truncated: false };
  // The offset in the notice is not known yet, so the longest possible one is assumed.
  const longMark = jsonLength(markOf(whole, whole.bytes));
  // If many texts share little space, each is cut without a notice, and the result contains one notice for all.
  const sample = budget < 2 * longMark ? { ...whole, readOn: undefined } : whole;
  const unmarked = whole.readOn && !sample.readOn && { isUnmarked: true as const };
  const room = budget - jsonLength(markOf(sample, sample.bytes));
  if (room <= 0) return { text: '', truncated: true, ...unmarked };
  const end = longestEnd(sample.tail || sample.head, Math.floor(room * TAIL_SHARE));
  const start = longestStart(sample.head, room - jsonLength(end));
  return { text: start + markOf(sample, Buffer.byteLength(start)) + end, truncated: true, ...unmarked };
}

function markOf({ bytes, readOn }: Sample, offset: number): string {
  const how = readOn ? `; ${readOn(offset)} reads on` : '';
  return `\n[… left out, ${bytes} bytes in all${how} …]\n`;
}

/** The longest beginning of `text` with at most `budget` characters of JSON, never with half a character. */
export function longestStart(text: string, budget: number): string {
  const start = (length: number) => text.slice(0, isLowSurrogate(text, length) ? length - 1 : length);
  return start(searchLength(text.length, length => jsonLength(start(length)) <= budget));
}

function longestEnd(text: string, budget: number): string {
  const end = (length: number) => {
    const from = text.length - length;
    return text.slice(isLowSurrogate(text, from) ? from + 1 : from);
  };
  return end(searchLength(text.length, length => jsonLength(end(length)) <= budget));
}

/** The largest n in 0…max for which `holds` is true, by binary search. */
function searchLength(max: number, holds: (n: number) => boolean): number {
  let low = 0;
  let high = max;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
