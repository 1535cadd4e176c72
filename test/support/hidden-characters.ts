/** Text that a terminal or a browser would obey or not show, and how every view must show it. */
export interface HiddenCase {
  name: string;
  text: string;
  shown: string;
}

const ESC = '\u001b';
const code = (point: number): string => `<U+${point.toString(16).toUpperCase().padStart(4, '0')}>`;
const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);
const each = (points: number[], name: string, shown: (point: number) => string): HiddenCase[] =>
  points.map(point => ({
    name: `${name} ${code(point)}`,
    text: String.fromCodePoint(point),
    shown: shown(point),
  }));

/** Every control character but tab and newline, which are ordinary. A return is one unless a newline follows it. */
const CONTROLS = [
  ...each(
    range(0, 0x1f).filter(point => point !== 0x09 && point !== 0x0a),
    'C0',
    point => String.fromCharCode(0x2400 + point),
  ),
  ...each([0x7f], 'DEL', () => '␡'),
  ...each(range(0x80, 0x9f), 'C1', code),
];

/** Sequences that hold words, which a terminal swallows with them. */
const SEQUENCES: HiddenCase[] = [
  ...[
    { name: 'OSC, ended by BEL', text: `${ESC}]0;swallowed\u0007`, shown: '␛]0;swallowed␇' },
    { name: 'OSC, ended by ST', text: `${ESC}]0;swallowed${ESC}\\`, shown: '␛]0;swallowed␛\\' },
    { name: 'OSC, never ended', text: `${ESC}]0;swallowed`, shown: '␛]0;swallowed' },
    { name: 'OSC, eight-bit', text: '\u009d0;swallowed\u009c', shown: '<U+009D>0;swallowed<U+009C>' },
    { name: 'OSC, eight-bit, never ended', text: '\u009d0;swallowed', shown: '<U+009D>0;swallowed' },
  ],
  ...[
    { name: 'clipboard', text: `${ESC}]52;c;c3dhbGxvd2Vk\u0007`, shown: '␛]52;c;c3dhbGxvd2Vk␇' },
    { name: 'DCS', text: `${ESC}Pswallowed${ESC}\\`, shown: '␛Pswallowed␛\\' },
    { name: 'DCS, eight-bit', text: '\u0090swallowed\u009c', shown: '<U+0090>swallowed<U+009C>' },
    { name: 'APC', text: `${ESC}_swallowed${ESC}\\`, shown: '␛_swallowed␛\\' },
    { name: 'PM', text: `${ESC}^swallowed${ESC}\\`, shown: '␛^swallowed␛\\' },
    { name: 'SOS', text: `${ESC}Xswallowed${ESC}\\`, shown: '␛Xswallowed␛\\' },
  ],
  ...[
    { name: 'erased line', text: `swallowed${ESC}[2K`, shown: 'swallowed␛[2K' },
    { name: 'cursor up', text: `swallowed${ESC}[1A`, shown: 'swallowed␛[1A' },
    { name: 'eight-bit CSI', text: '\u009b2Kswallowed', shown: '<U+009B>2Kswallowed' },
    { name: 'letters as ends of sequences', text: `${ESC}[r${ESC}[s`, shown: '␛[r␛[s' },
    { name: 'overwritten by a return', text: 'swallowed\rharmless', shown: 'swallowed␍harmless' },
    { name: 'overwritten by backspaces', text: 'swallowed\b\b\bok', shown: 'swallowed␈␈␈ok' },
  ],
];

const INVISIBLE = [
  ...each([0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)], 'bidi', code),
  ...each([0x200b, 0x200c, 0x200d, ...range(0x2060, 0x2064), 0xfeff, 0xad, 0x34f], 'zero width', code),
  ...each([0x115f, 0x180e, 0x3164, 0xffa0, 0xfe0f, 0xe0100], 'blank', code),
  ...each([0x2028, 0x2029, 0xfff9, 0xfffa, 0xfffb], 'separator', code),
  ...each([0xe0001, 0xe0020, 0xe0041, 0xe007f], 'tag', code),
];

export const HIDDEN_CASES: readonly HiddenCase[] = [...CONTROLS, ...SEQUENCES, ...INVISIBLE];

/** Text that must be left as it is: scripts that need a joiner, emoji made of several, symbols in a chosen style. */
export const ORDINARY_TEXT: readonly string[] = [
  ...['é ß 中文 日本 العربية', '👩\u200d💻 ❤\ufe0f\u200d🔥 👍🏽 👩‍👩‍👧', 'می\u200cخواهم', 'क्\u200dष'],
  ...['1\ufe0f\u20e3 ©\ufe0f ↔\ufe0f', 'a\tb\u00a0c', '🏳\ufe0f\u200d🌈', '葛\ufe00'],
];

/** A line for each case, between words that have to be seen too. */
export const hiddenLines = (cases = HIDDEN_CASES): string[] =>
  cases.map(({ text }, at) => `before-${at} ${text}x after-${at}`);
export const shownLines = (cases = HIDDEN_CASES): string[] =>
  cases.map(({ shown }, at) => `before-${at} ${shown}x after-${at}`);

/** Characters of an output that would be obeyed or not seen; colours and styles of our own are left out. */
export function obeyedIn(output: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for
  const rest = output.replaceAll(/\u001b\[[0-9;]*m/g, '').replaceAll('\r\n', '\n');
  const found = rest.matchAll(
    /(?![\n\t])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu,
  );
  return [...new Set([...found].map(([character]) => code(character.codePointAt(0)!)))];
}

/** JSON that is one line to every reader, also to one that takes U+2028 for the end of a line. */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
