import { type AnsiStyle, PLAIN_STYLE, restyled } from './ansi-style.ts';

export interface AnsiSpan {
  text: string;
  style: AnsiStyle;
  /** Of http or https only. */
  href: string | null;
}
export type AnsiLine = AnsiSpan[];

type State = 'text' | 'escape' | 'csi' | 'string' | 'string-escape';

const LONGEST_SEQUENCE = 4_096;
/** Control characters but tabs, and what turns the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const SPECIAL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Output of programs as lines of styled text: what a terminal would show of it, without moves over the screen. Goes on where the
 * chunk before ended, inside a sequence too. A sequence ends with its line at the latest, so that one nobody closed hides no more.
 */
export class AnsiParser {
  #state: State = 'text';
  #sequence = '';
  /** Of a string: OSC alone has a meaning here. */
  #isOsc = false;
  #style = PLAIN_STYLE;
  #href: string | null = null;
  #line: AnsiLine = [];
  /** The cursor is at the start of the line: what comes next takes its place. */
  #isReturned = false;

  /** The lines that are whole now. */
  push(chunk: string): AnsiLine[] {
    const lines: AnsiLine[] = [];
    for (let at = 0; at < chunk.length; ) {
      if (this.#state !== 'text') {
        at = this.#inSequence(chunk, at);
        continue;
      }
      SPECIAL.lastIndex = at;
      const next = SPECIAL.exec(chunk);
      const end = next?.index ?? chunk.length;
      if (end > at) this.#write(chunk.slice(at, end));
      at = end + 1;
      if (next?.[0] === '\n') lines.push(this.#finish());
      else if (next) this.#control(next[0]);
    }
    return lines;
  }

  /** The one that has no end yet; empty: there is none. */
  get open(): AnsiLine {
    return this.#line;
  }

  /** What comes next is a line of its own, without a newline before it. */
  breakLine(): void {
    this.#finish();
  }

  #finish(): AnsiLine {
    const line = this.#line;
    this.#line = [];
    this.#isReturned = false;
    return line;
  }

  #write(text: string): void {
    if (this.#isReturned) this.#erase();
    const last = this.#line.at(-1);
    if (last && last.style === this.#style && last.href === this.#href) last.text += text;
    else this.#line.push({ text, style: this.#style, href: this.#href });
  }

  #erase(): void {
    this.#line = [];
    this.#isReturned = false;
  }

  #control(char: string): void {
    const code = char.charCodeAt(0);
    if (char === '\r') this.#isReturned = this.#line.length > 0;
    else if (char === '\b') this.#backspace();
    else if (char === '\u001b') this.#begin('escape');
    else if (char === '\u009b') this.#begin('csi');
    else if (char === '\u009d') this.#beginString(true);
    else if (char === '\u0090' || char === '\u0098' || char === '\u009e' || char === '\u009f')
      this.#beginString(false);
    else if (code < 0x20 && char !== '\u0007') this.#write(String.fromCharCode(0x2400 + code));
    // What turns the direction of the text after it is seen, not obeyed; bells and the rest are not for a page.
    else if (code >= 0x200e) this.#write('\ufffd');
  }

  #backspace(): void {
    const last = this.#line.at(-1);
    if (!last) return;
    last.text = last.text.slice(0, -1);
    if (last.text === '') this.#line.pop();
  }

  #begin(state: State): void {
    this.#state = state;
    this.#sequence = '';
  }

  #beginString(isOsc: boolean): void {
    this.#begin('string');
    this.#isOsc = isOsc;
  }

  /** One step of a sequence; returns where to go on. */
  #inSequence(chunk: string, at: number): number {
    const char = chunk[at]!;
    // Its line ends, or it is given up.
    if (char === '\n' || char === '\u0018' || char === '\u001a') {
      this.#state = 'text';
      return char === '\n' ? at : at + 1;
    }
    if (this.#state === 'escape') this.#afterEscape(char);
    else if (this.#state === 'csi') this.#inCsi(char);
    else this.#inString(char);
    return at + 1;
  }

  #afterEscape(char: string): void {
    if (char === '[') this.#begin('csi');
    else if (char === ']') this.#beginString(true);
    else if ('PX^_'.includes(char)) this.#beginString(false);
    // Ones of several characters, like the choice of a character set.
    else if (char >= ' ' && char <= '/') return;
    else if (char !== '\u001b') this.#state = 'text';
  }

  #inCsi(char: string): void {
    if (char === '\u001b') this.#begin('escape');
    else if (char >= '@' && char <= '~') this.#endCsi(char);
    else if (this.#sequence.length < LONGEST_SEQUENCE) this.#sequence += char;
  }

  #endCsi(char: string): void {
    this.#state = 'text';
    if (char === 'm' && /^[\d;:]*$/.test(this.#sequence)) this.#style = this.#restyled();
    if (char === 'K' && (this.#isReturned || /^[12]$/.test(this.#sequence))) this.#erase();
  }

  #inString(char: string): void {
    if (this.#state === 'string-escape') {
      if (char === '\\') this.#endString();
      else {
        // An escape that ends nothing begins another sequence.
        this.#begin('escape');
        this.#afterEscape(char);
      }
    } else if (char === '\u001b') this.#state = 'string-escape';
    else if (char === '\u009c' || (char === '\u0007' && this.#isOsc)) this.#endString();
    else if (this.#sequence.length < LONGEST_SEQUENCE) this.#sequence += char;
  }

  #endString(): void {
    this.#state = 'text';
    const link = this.#isOsc && /^8;[^;]*;(.*)$/.exec(this.#sequence);
    if (link) this.#href = safeLink(link[1]!);
  }

  #restyled(): AnsiStyle {
    return restyled(this.#style, this.#sequence);
  }
}

/** Of the web, and plain: a host may have quotes in it, and no honest one has. */
function safeLink(address: string): string | null {
  const href = URL.canParse(address) ? new URL(address).href : '';
  return /^https?:\/\/[^\s"'<>`\\]*$/.test(href) ? href : null;
}
