/**
 * Control characters except tab and newline, characters without a glyph, marks that change the reading direction, and
 * line separators.
 */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u;
const EVERY_HIDDEN = new RegExp(HIDDEN, 'gu');
const JOINERS = '\u200c\u200d';
/**
 * Characters that a joiner may follow: letters of scripts whose spelling needs joiners, which have no capitals, and
 * emoji.
 */
const BEFORE_JOINER =
  /(?:(?!\p{Default_Ignorable_Code_Point})[\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]|\p{Extended_Pictographic}\ufe0f)$/u;
const AFTER_JOINER = /^(?!\p{Default_Ignorable_Code_Point})[\p{Lo}\p{M}\p{Extended_Pictographic}]/u;
/**
 * U+FE00 to U+FE0F select a style of the symbol or letter before them; after a digit they are only valid as part of a
 * keycap.
 */
const STYLED = /(?!\p{Default_Ignorable_Code_Point})[\p{Lo}\p{So}\p{Sm}\p{Extended_Pictographic}]$/u;
const KEYCAP = /[\d#*]\ufe0f\u20e3/u;
const LINE_END = /\r\n/g;

/**
 * Text with every character visible. A C0 control becomes its picture (ESC: ␛); any other character that a terminal or
 * a browser would interpret or not draw becomes its code (`<U+202E>`). Nothing is left out. Tabs, newlines and CRLF
 * stay unchanged, and so do joiners and style marks that emoji and some scripts need.
 */
export function visibleText(text: string): string {
  return HIDDEN.test(text)
    ? text
        .replace(LINE_END, '\n')
        .replace(EVERY_HIDDEN, (char, at: number, whole: string) =>
          isOrdinary(char, at, whole) ? char : pictureOf(char),
        )
    : text;
}

/** Like `visibleText`, on one line. */
export const visibleLine = (text: string): string => visibleText(text).replace(/\s+/g, ' ').trim();

/** Returns a key that is equal for texts that look the same in a program that draws all hidden characters alike. */
export const visualKey = (text: string): string =>
  text.replace(EVERY_HIDDEN, '\ufffd').replace(/\s+/g, ' ').trim();

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for
const COLOUR_PARTS = /(\u001b\[[\d;]*m)/;

/** Makes hidden characters visible, but keeps the colours that Squad has added. */
export const visibleExceptColours = (text: string): string =>
  text
    .split(COLOUR_PARTS)
    .map((part, at) => (at % 2 === 1 ? part : visibleText(part)))
    .join('');

/** Whether the text has hidden characters other than line ends. */
export function hasHidden(text: string): boolean {
  if (!HIDDEN.test(text)) return false;
  const plain = text.replace(LINE_END, '\n');
  for (const { 0: char, index } of plain.matchAll(EVERY_HIDDEN))
    if (!isOrdinary(char, index, plain)) return true;
  return false;
}

/**
 * A sentence that counts and names the hidden characters of a text, for the person who decides about it. Null if there
 * are none.
 */
export function hiddenWarning(text: string, where: string): string | null {
  const counts = [...hiddenCounts(text)].sort(([, a], [, b]) => b - a);
  if (counts.length === 0) return null;
  const kinds = KINDS.flatMap(([kind, belongs]) => {
    const found = counts.filter(([char]) => kindOf(char) === belongs);
    return found.length === 0 ? [] : [`${sumOf(found)} ${kind} (${listed(found)})`];
  });
  const total = sumOf(counts);
  const many = total === 1 ? '1 hidden character' : `${total} hidden characters`;
  return `Warning: ${where} has ${many}, shown by picture or code: ${kinds.join(', ')}`;
}

type Counts = [char: string, count: number][];
type Kind = 'control' | 'direction' | 'invisible';

const KINDS: [string, Kind][] = [
  ['terminal control', 'control'],
  ['reading direction', 'direction'],
  ['invisible', 'invisible'],
];

function kindOf(char: string): Kind {
  if (/\p{Cc}/u.test(char)) return 'control';
  return /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(char) ? 'direction' : 'invisible';
}

const sumOf = (counts: Counts): number => counts.reduce((sum, [, count]) => sum + count, 0);

function listed(counts: Counts): string {
  const named = counts.slice(0, MAX_NAMED).map(([char, count]) => `${count} × ${nameOf(char)}`);
  const more = counts.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more kinds`] : [])].join(', ');
}

function hiddenCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  if (!HIDDEN.test(text)) return counts;
  const plain = text.replace(LINE_END, '\n');
  for (const { 0: char, index } of plain.matchAll(EVERY_HIDDEN))
    if (!isOrdinary(char, index, plain)) counts.set(char, (counts.get(char) ?? 0) + 1);
  return counts;
}

/** Whether a joiner or style mark is in a place where correct spelling or an emoji needs it. */
function isOrdinary(char: string, at: number, whole: string): boolean {
  const before = whole.slice(Math.max(0, at - 3), at);
  if (JOINERS.includes(char))
    return BEFORE_JOINER.test(before) && AFTER_JOINER.test(whole.slice(at + 1, at + 3));
  const isStyle = char >= '\ufe00' && char <= '\ufe0f';
  return isStyle && (STYLED.test(before) || KEYCAP.test(whole.slice(Math.max(0, at - 1), at + 2)));
}

function pictureOf(char: string): string {
  const code = char.codePointAt(0)!;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : `<${codeOf(char)}>`;
}

/** Code point of a character, such as `U+202E`. */
export const codeOf = (char: string): string =>
  `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

const MAX_NAMED = 5;

function nameOf(char: string): string {
  const name = NAMES[codeOf(char)];
  return name === undefined ? codeOf(char) : `${codeOf(char)} ${name}`;
}

/** Common abbreviations of characters that are used to mislead. */
const NAMES: Record<string, string> = {
  ...{ 'U+0000': 'NUL', 'U+0007': 'BEL', 'U+0008': 'BS', 'U+000B': 'VT', 'U+000C': 'FF', 'U+000D': 'CR' },
  ...{ 'U+001B': 'ESC', 'U+007F': 'DEL', 'U+0085': 'NEL', 'U+0090': 'DCS', 'U+0098': 'SOS', 'U+009B': 'CSI' },
  ...{ 'U+009C': 'ST', 'U+009D': 'OSC', 'U+009E': 'PM', 'U+009F': 'APC', 'U+00AD': 'SHY', 'U+061C': 'ALM' },
  ...{
    'U+200B': 'ZWSP',
    'U+200C': 'ZWNJ',
    'U+200D': 'ZWJ',
    'U+200E': 'LRM',
    'U+200F': 'RLM',
    'U+2060': 'WJ',
  },
  ...{ 'U+202A': 'LRE', 'U+202B': 'RLE', 'U+202C': 'PDF', 'U+202D': 'LRO', 'U+202E': 'RLO', 'U+2066': 'LRI' },
  ...{
    'U+2067': 'RLI',
    'U+2068': 'FSI',
    'U+2069': 'PDI',
    'U+2028': 'LSEP',
    'U+2029': 'PSEP',
    'U+FEFF': 'BOM',
  },
};

/** Number of characters that are searched for the first line, because a task can have megabytes. */
const LOOKED_AT = 4_000;

/** Foreign text as one line of at most `most` characters, with hidden characters made visible. */
export function oneLine(text: string, most: number): string {
  const line = visibleLine(text.slice(0, LOOKED_AT).toWellFormed());
  const characters = [...line];
  const isAll = characters.length <= most && text.length <= LOOKED_AT;
  return isAll
    ? line
    : `${characters
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`;
}

/** One line that Markdown shows as plain text, also in a table cell. */
export function asMarkdownText(text: string, most: number): string {
  return (
    oneLine(text, most)
      .replace(/&(?=[#\w])/g, '&amp;')
      .replace(/</g, '&lt;')
      .replace(/>/g, '&gt;')
      .replace(/[\\`*[\]|~]/g, '\\$&')
      // An underscore inside a word has no meaning in Markdown. It is not escaped, so that ids and names can be
      // searched for unchanged.
      .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
  );
}

const MAX_SUGGESTIONS = 3;

/** Similar names that may have been meant, best match first. */
export function nearest(wanted: string, names: Iterable<string>): string[] {
  const word = wanted.toLowerCase();
  return [...new Set(names)]
    .map(name => ({ name, distance: distanceTo(word, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance(word))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name);
}

/** Short words allow fewer edits, because two edits turn a word of three letters into most others. */
const maxDistance = ({ length }: string): number => (length < 4 ? 1 : Math.max(2, Math.floor(length / 3)));

function distanceTo(word: string, name: string): number {
  const edits = editDistance(word, name);
  // A typed prefix of a name is a match, however long the rest of the name is.
  const begun = word.length >= 2 && (name.startsWith(word) || word.startsWith(name));
  return begun ? Math.min(edits, 1) : edits;
}

/** Number of edits: inserting, deleting, replacing and swapping neighbours count one each. */
function editDistance(a: string, b: string): number {
  // A much longer word is never similar. The limit also keeps the table small, which grows with both lengths.
  if (Math.abs(a.length - b.length) > 64) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, beforeLast[column - 2]! + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length]!;
}

/** SGR sequences: colours and styles. They contain only numbers, so removing them hides no text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for
const COLOURS = /\u001b\[[\d;:]*m/g;

/**
 * Output of programs without colours. Only for views of output, where nobody decides about the text; all other
 * sequences stay and are made visible by `visibleText`.
 */
export const withoutColours = (text: string): string =>
  text.includes('\u001b') ? text.replace(COLOURS, '') : text;

/** Text with `%41` and the like decoded. Null if an escape is not valid. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Formats a size for people. Small sizes are exact. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(0)} KiB`;
  if (bytes < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return `${(bytes / 1024 ** 3).toFixed(2)} GiB`;
}

/**
 * Length of the longest run of one character: a delimiter that is one longer cannot occur in the text. `each` finds
 * every such run.
 */
export function longestRepeat(text: string, each: RegExp): number {
  let longest = 0;
  // A loop instead of Math.max(...), because there may be more matches than a call accepts arguments.
  for (const [streak] of text.matchAll(each)) longest = Math.max(longest, streak.length);
  return longest;
}
