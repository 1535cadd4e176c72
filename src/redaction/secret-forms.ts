import { percentDecoded } from '../base/text.ts';

/**
 * Number of characters that are hashed together, and the distance between two hashed places. Every needle of at least
 * STEP + GRAM - 1 characters covers one of these places.
 */
const GRAM = 4;
const STEP = 3;
export const MIN_SECRET_LENGTH = STEP + GRAM - 1;
const BUCKETS = 1 << 14;

/**
 * Searches for many texts in one pass, quickly, because most results contain no secret. No needle may be shorter than
 * MIN_SECRET_LENGTH.
 */
export function searchFor(needles: readonly string[]): (text: string) => boolean {
  const isTaken = new Uint8Array(BUCKETS);
  const candidates = new Map<number, [needle: string, offset: number][]>();
  for (const needle of needles)
    for (let offset = 0; offset < STEP; offset++) {
      const bucket = bucketOf(needle, offset);
      isTaken[bucket] = 1;
      candidates.set(bucket, [...(candidates.get(bucket) ?? []), [needle, offset]]);
    }
  return text => {
    for (let at = 0; at + GRAM <= text.length; at += STEP) {
      const bucket = bucketOf(text, at);
      if (isTaken[bucket] === 0) continue;
      for (const [needle, offset] of candidates.get(bucket)!)
        if (at >= offset && text.startsWith(needle, at - offset)) return true;
    }
    return false;
  };
}

function bucketOf(text: string, at: number): number {
  const mixed =
    (Math.imul(text.charCodeAt(at), 0x9e37) ^
      Math.imul(text.charCodeAt(at + 1), 0x85eb) ^
      Math.imul(text.charCodeAt(at + 2), 0xc2b2) ^
      Math.imul(text.charCodeAt(at + 3), 0x27d4)) >>>
    0;
  return (mixed ^ (mixed >>> 14)) & (BUCKETS - 1);
}

/** A text that reveals a secret, and how many characters around it also depend on the secret. */
export interface Form {
  text: string;
  before: number;
  after: number;
}

/** Shorter lines of a multi-line key are not redacted on their own. */
const MIN_LINE_LENGTH = 16;

/** Every usual spelling of a secret. */
export function formsOf(value: string): Form[] {
  const forms = partsOf(value)
    .filter(part => part.length >= MIN_SECRET_LENGTH)
    .flatMap(part => [...spellings(part).map(plain), ...base64Forms(part)])
    .filter(({ text }) => text.length >= MIN_SECRET_LENGTH);
  return [...new Map(forms.map(form => [form.text, form])).values()];
}

/** The value and the parts that may appear alone: the password of a URL, the lines of a key, the value without its final line break. */
function partsOf(value: string): string[] {
  const lines = value
    .split(/\r\n|\n|\r/)
    .filter(line => line.length >= MIN_LINE_LENGTH && !/^-+[^-]+-+$/.test(line));
  return [...new Set([value, value.trim(), ...lines, ...credentialsOf(value)])];
}

function credentialsOf(value: string): string[] {
  const url = URL.parse(value);
  if (!url?.password) return [];
  // The URL parser normalizes the password; this is its original spelling.
  const written = /^[^:]+:\/\/([^:@/]*):(.*)@/s.exec(value);
  const pairs: [string, string][] = [
    [url.username, url.password],
    [percentDecoded(url.username) ?? url.username, percentDecoded(url.password) ?? url.password],
    ...(written ? [[written[1]!, written[2]!] as [string, string]] : []),
  ];
  return pairs.flatMap(([user, password]) => [password, `${user}:${password}`]);
}

function spellings(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(/[^ -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const hex = Buffer.from(value).toString('hex');
  const percent = encodeURIComponent(value.toWellFormed());
  // Some programs also encode characters that encodeURIComponent leaves unchanged, or write a plus for a space.
  const strict = percent.replace(/[!'()*~]/g, unit => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`);
  const encoded = [percent, strict, percent.replaceAll('%20', '+'), hex.replace(/../g, '%$&')];
  return [
    ...[value, json, ascii, json.replaceAll('/', '\\/'), JSON.stringify(json).slice(1, -1)],
    ...encoded,
    ...encoded.map(text => text.replace(/%[0-9a-f]{2}/gi, code => code.toLowerCase())),
    ...encoded.map(text => text.replace(/%[0-9a-f]{2}/gi, code => code.toUpperCase())),
    ...[hex, hex.toUpperCase()],
    ...[value.toUpperCase(), value.toLowerCase(), ...asNumber(value)],
  ];
}

/**
 * The spelling of a program that parsed the value as a number: without leading zeros, and with no more digits than a
 * number can hold.
 */
const asNumber = (value: string): string[] =>
  /^[+-]?\d+(\.\d+)?$/.test(value) ? [String(Number(value))] : [];

/**
 * Base64 turns three bytes into four characters, so a secret inside a longer text has three different forms. Characters at its
 * edges also depend on the text around it; they are not part of the form, but are removed with it.
 */
function base64Forms(value: string): Form[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap(offset => {
    const whole = offset + bytes.length;
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const text = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor((whole * 8) / 6));
    const edges = { before: offset === 0 ? 0 : 1, after: whole % 3 === 0 ? 0 : 1 };
    return [text, text.replaceAll('+', '-').replaceAll('/', '_'), text.replaceAll('/', '\\/')].map(form => ({
      text: form,
      ...edges,
    }));
  });
}

const plain = (text: string): Form => ({ text, before: 0, after: 0 });
