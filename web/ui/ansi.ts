import { visibleText } from '../../src/base/text.ts';
import { type AnsiStyle, PLAIN_STYLE, restyled } from './ansi-style.ts';

export interface AnsiSpan {
  text: string;
  style: AnsiStyle;
  /** URL of a link, http or https only. */
  href: string | null;
}
export type AnsiLine = AnsiSpan[];

interface Look {
  style: AnsiStyle;
  href: string | null;
}

/** Sequences that are interpreted: colours, and links (OSC 8) with at most an id. */
const KNOWN = new RegExp(
  [
    '\\u001b\\[([\\d;:]{0,200})m',
    '\\u001b\\]8;(?:id=[\\w.:/-]{0,100})?;([^\\u0000-\\u0020\\u007f-\\u009f]{0,4096})(?:\\u0007|\\u001b\\\\|\\u009c)',
  ].join('|'),
  'g',
);

/**
 * Parses output of programs into lines of styled text. Colours are applied, and web links become links, followed by
 * their target. All other sequences, carriage returns and backspaces are shown instead of interpreted, so that no
 * output can hide a part of itself. Parsing continues where the previous chunk ended, even inside a sequence.
 */
export class AnsiParser {
  #look: Look = { style: PLAIN_STYLE, href: null };
  /** Raw text of the unfinished last line. */
  #raw = '';

  /** Parses a chunk. Returns the lines that are complete now. */
  push(chunk: string): AnsiLine[] {
    const [first = '', ...rest] = chunk.split('\n');
    this.#raw += first;
    return rest.map(next => {
      const line = this.#finish();
      this.#raw = next;
      return line;
    });
  }

  /** The unfinished last line. Empty if there is none. */
  get open(): AnsiLine {
    return spansOf(this.#raw, this.#look).line;
  }

  /** Starts a new line without a newline in the text. */
  breakLine(): void {
    this.#finish();
    this.#raw = '';
  }

  #finish(): AnsiLine {
    const { line, look } = spansOf(this.#raw, this.#look);
    this.#look = look;
    return line;
  }
}

function spansOf(raw: string, before: Look): { line: AnsiLine; look: Look } {
  // The newline of a CRLF may not have arrived yet.
  const text = raw.replace(/\r$/, '');
  const line: AnsiLine = [];
  let look = before;
  let linked = '';
  const write = (piece: string, { style, href }: Look) => {
    if (piece === '') return;
    const last = line.at(-1);
    if (last && last.style === style && last.href === href) last.text += piece;
    else line.push({ text: piece, style, href });
  };
  const writeText = (piece: string) => {
    const shown = visibleText(piece);
    write(shown, look);
    if (look.href !== null) linked += shown;
  };
  /** Shows the target after a link, because the text of a link can show another URL. */
  const endLink = () => {
    const { href } = look;
    if (href !== null && linked !== '' && linked !== href && `${linked}/` !== href)
      write(` (${href})`, { style: PLAIN_STYLE, href: null });
    linked = '';
  };
  let at = 0;
  for (const { 0: sequence, 1: colours, 2: address, index } of text.matchAll(KNOWN)) {
    writeText(text.slice(at, index));
    at = index + sequence.length;
    if (colours !== undefined) look = { ...look, style: restyled(look.style, colours) };
    else {
      const href = address === '' ? null : safeLink(address ?? '');
      if (address !== '' && href === null) writeText(sequence);
      else {
        endLink();
        look = { ...look, href };
      }
    }
  }
  writeText(text.slice(at));
  endLink();
  return { line, look };
}

/** Accepts only plain http and https links. A host may contain quotes, but no normal host does. */
function safeLink(address: string): string | null {
  const href = URL.canParse(address) ? new URL(address).href : '';
  return /^https?:\/\/[^\s"'<>`\\]*$/.test(href) ? href : null;
}
