import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { OutputPage } from '../../core/ports/run-files.ts';
import { readPage } from './output-page.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-page-'));
const path = join(root, 'stdout');
afterAll(() => rmSync(root, { recursive: true }));

const over = () => true;
const live = () => false;
const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

/** Bytes as programs write them, and as broken ones do: whole characters of every length, their parts, and noise. */
const bytes = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }).map(text => Buffer.from(text)),
      fc
        .constantFrom('é', '€', '😀', '\ufeff', '\u07ff', '\u0800', '\uffff', '\u{10ffff}')
        .map(text => Buffer.from(text)),
      fc
        .tuple(fc.constantFrom('€', '😀'), fc.nat(3))
        .map(([text, length]) => Buffer.from(text).subarray(0, length)),
      fc.uint8Array({ maxLength: 4 }).map(raw => Buffer.from(raw)),
      fc
        .constantFrom(
          [0xe0, 0x80],
          [0xed, 0xa0, 0x80],
          [0xf0, 0x80],
          [0xf4, 0x90],
          [0xf8, 0x88],
          [0xc0, 0xaf],
          [0x80],
        )
        .map(raw => Buffer.from(raw)),
    ),
    { maxLength: 20 },
  )
  .map(parts => Buffer.concat(parts));

describe('pages', () => {
  test('read one after the other give exactly the whole text, at any limit', { tags: ['C10'] }, async () => {
    await fc.assert(
      fc.asyncProperty(bytes, fc.integer({ min: 1, max: 12 }), async (content, limit) => {
        writeFileSync(path, content);
        let text = '';
        let offset = 0;
        while (offset < content.length) {
          const page = await readPage(path, offset, limit, over);
          expect(page.offset).toBe(offset);
          expect(page.nextOffset).toBeGreaterThan(offset);
          expect(page.nextOffset - offset).toBeLessThanOrEqual(Math.max(limit, 4));
          expect(page.size).toBe(content.length);
          text += page.text;
          offset = page.nextOffset;
        }
        expect(offset).toBe(content.length);
        expect(text).toBe(decode(content));
      }),
      { numRuns: 500 },
    );
  });

  test('from any offset, also from the end, are a part of the whole text', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, fc.integer({ min: -60, max: 60 }), async (content, offset) => {
        writeFileSync(path, content);
        const wanted = offset < 0 ? Math.max(0, content.length + offset) : Math.min(offset, content.length);
        const page = await readPage(path, offset, 1000, over);
        expect(page.offset).toBeGreaterThanOrEqual(wanted);
        expect(page.offset).toBeLessThan(wanted + 4);
        expect(page.nextOffset).toBe(content.length);
        expect(decode(content.subarray(0, page.offset)) + page.text).toBe(decode(content));
      }),
      { numRuns: 500 },
    );
  });

  test('never show half a character of a living turn', { tags: ['C10'] }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 20 }), fc.nat(80), async (text, at) => {
        const whole = Buffer.from(text.toWellFormed());
        const cut = Math.min(at, whole.length);
        writeFileSync(path, whole.subarray(0, cut));
        const first = await readPage(path, 0, 1000, live);
        expect(first.nextOffset).toBe(first.size);
        appendFileSync(path, whole.subarray(cut));
        const second = await readPage(path, first.nextOffset, 1000, live);
        expect(first.text + second.text).toBe(whole.toString());
      }),
      { numRuns: 300 },
    );
  });
});

test('half a character at the end of an ended turn is shown as broken, once', async () => {
  writeFileSync(path, Buffer.from('ab€').subarray(0, 4));
  expect(await readPage(path, 0, 100, live)).toEqual({
    text: 'ab',
    offset: 0,
    nextOffset: 2,
    size: 2,
  } satisfies OutputPage);
  expect(await readPage(path, 0, 100, over)).toEqual({ text: 'ab\ufffd', offset: 0, nextOffset: 4, size: 4 });
});

test('a file that is not there yet is empty, and an offset past the end is the end', async () => {
  expect(await readPage(join(root, 'none'), -10, 100, over)).toEqual({
    text: '',
    offset: 0,
    nextOffset: 0,
    size: 0,
  });
  writeFileSync(path, 'abc');
  expect(await readPage(path, 10, 100, over)).toEqual({ text: '', offset: 3, nextOffset: 3, size: 3 });
});

test.each([
  ['a pipe', (at: string) => execFileSync('mkfifo', [at])],
  ['a folder', (at: string) => mkdirSync(at)],
  ['a link', (at: string) => symlinkSync('/dev/zero', at)],
])('%s in place of the file is read as empty, and nobody waits for it', async (name, make) => {
  const odd = join(root, name);
  make(odd);
  const page = await readPage(odd, 0, 100, over);
  expect(page).toEqual({ text: '', offset: 0, nextOffset: 0, size: 0 });
});

describe('pages of whole lines', () => {
  const lines = (offset: number, limit: number) => readPage(path, offset, limit, () => true, true);

  test('leave out the pieces of lines at their edges', async () => {
    writeFileSync(path, 'one\ntwo é\nthree\nfour');
    expect(await lines(0, 9)).toMatchObject({ text: 'one\n', offset: 0, nextOffset: 4 });
    expect(await lines(4, 12)).toMatchObject({ text: 'two é\n', nextOffset: 11 });
    expect(await lines(5, 12)).toMatchObject({ text: 'three\n', offset: 11, nextOffset: 17 });
    expect(await lines(-8, 100)).toMatchObject({ text: 'four', offset: 17, nextOffset: 21 });
  });

  test('are pieces where no whole line fits', async () => {
    writeFileSync(path, `${'x'.repeat(50)}\nend\n`);
    expect(await lines(0, 20)).toMatchObject({ text: 'x'.repeat(20), nextOffset: 20 });
    expect(await lines(20, 20)).toMatchObject({ text: 'x'.repeat(20), nextOffset: 40 });
    expect(await lines(40, 11)).toMatchObject({ text: `${'x'.repeat(10)}\n`, offset: 40, nextOffset: 51 });
  });
});
