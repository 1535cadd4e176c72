import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createLineIndex, newlinesIn } from './line-index.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-lines-'));
afterAll(() => rmSync(folder, { recursive: true }));
const LONG = 60_000;
let made = 0;

function file(content: string | Buffer): string {
  const path = join(folder, `f${made++}`);
  writeFileSync(path, content);
  return path;
}

/** By the plainest way there is. */
function startsOf(content: string): number[] {
  const bytes = Buffer.from(content);
  const starts = [0];
  for (let at = 0; at < bytes.length - 1; at++) if (bytes[at] === 10) starts.push(at + 1);
  return starts;
}

describe('which line is where', () => {
  test.each([
    ['with a final newline', 'a\nbb\nccc\n'],
    ['without one', 'a\nbb\nccc'],
    ['that end in CRLF', 'a\r\nbb\r\n\r\nc\r\n'],
    ['that are empty', '\n\n\n'],
    ['of several bytes a character', 'é€😀\n'.repeat(40_000)],
    ['longer than a step', `${'x'.repeat(200_000)}\n${'y'.repeat(200_000)}\nz`],
  ])('lines %s', async (_, content) => {
    const path = file(content);
    const starts = startsOf(content);
    const index = createLineIndex();
    const some = starts.map((_, at) => at).filter(at => at % Math.ceil(starts.length / 50) === 0);
    for (const at of [...some, starts.length - 1]) {
      const place = { line: at + 1, offset: starts[at] };
      expect(await index.offsetOf(path, at + 1, LONG)).toMatchObject(place);
      expect(await index.lineAt(path, starts[at]!, LONG)).toMatchObject(place);
      expect(
        await index.lineAt(path, (starts[at + 1] ?? Buffer.byteLength(content)) - 1, LONG),
      ).toMatchObject(place);
    }
    expect(await index.offsetOf(path, 1e9, LONG)).toEqual({
      line: starts.length,
      offset: starts.at(-1),
      lines: starts.length,
      isComplete: true,
    });
  });

  test('few counts are kept of a file with very many lines, and all answers stay right', async () => {
    const path = file('ab\n'.repeat(1_000_000));
    const index = createLineIndex({ mostCounts: 4 });
    for (const line of [1, 2, 21_846, 500_000, 999_999, 1_000_000])
      expect(await index.offsetOf(path, line, LONG)).toMatchObject({ line, offset: (line - 1) * 3 });
    expect(await index.lineAt(path, 1_500_001, LONG)).toMatchObject({ line: 500_001, offset: 1_500_000 });
  });

  test('added lines are counted on, a file that was replaced by a shorter one is counted anew', async () => {
    const path = file('one\ntwo');
    const index = createLineIndex();
    expect(await index.offsetOf(path, 9, LONG)).toMatchObject({ line: 2, lines: 2 });
    appendFileSync(path, ' more\nthree\n');
    expect(await index.offsetOf(path, 9, LONG)).toMatchObject({ line: 3, offset: 13, lines: 3 });
    truncateSync(path, 4);
    expect(await index.offsetOf(path, 9, LONG)).toMatchObject({ line: 1, lines: 1 });
  });

  test('several who ask at once are all told the truth', async () => {
    const path = file('ab\n'.repeat(1_000_000));
    const index = createLineIndex();
    const lines = [900_000, 5, 450_000, 900_001];
    const places = await Promise.all(lines.map(line => index.offsetOf(path, line, LONG)));
    expect(places.map(({ offset }) => offset)).toEqual(lines.map(line => (line - 1) * 3));
  });

  test('the files least asked about are forgotten, not mixed up', async () => {
    const paths = ['a\nb\n', 'aa\nbb\n', 'aaa\nbbb\n'].map(content => file(content));
    const index = createLineIndex({ mostFiles: 1 });
    for (const [at, path] of [...paths.entries(), ...paths.entries()])
      expect(await index.offsetOf(path, 2, LONG)).toMatchObject({ offset: at + 2 });
  });

  test('no file and no output are no place', async () => {
    const index = createLineIndex();
    const nowhere = { line: null, offset: null, isComplete: true };
    expect(await index.lineAt(join(folder, 'none'), 5, LONG)).toMatchObject({ ...nowhere, lines: null });
    expect(await index.offsetOf(file(''), 5, LONG)).toMatchObject({ ...nowhere, lines: 0 });
  });

  test('a GiB is counted a piece a call, in little memory', async () => {
    const path = file('first\nsecond\n');
    const size = 2 ** 30;
    truncateSync(path, size - 5);
    appendFileSync(path, '\nlast');
    const index = createLineIndex();
    expect(await index.offsetOf(path, 2, LONG)).toMatchObject({ line: 2, offset: 6, lines: null });
    const before = process.memoryUsage().rss;
    let calls = 0;
    for (;;) {
      const place = await index.lineAt(path, size - 1, 10);
      calls++;
      if (!place.isComplete) expect(place.line).toBeNull();
      else {
        expect(place).toMatchObject({ line: 4, offset: size - 4, lines: 4 });
        break;
      }
    }
    expect(calls).toBeGreaterThan(1);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
  });

  test('a line whose newline is the last byte before a count', async () => {
    const path = file(`${'x'.repeat(65_535)}\nnext\n`);
    const index = createLineIndex();
    expect(await index.offsetOf(path, 2, LONG)).toMatchObject({ line: 2, offset: 65_536, lines: 2 });
    expect(await index.lineAt(path, 65_535, LONG)).toMatchObject({ line: 1, offset: 0 });
    expect(await index.lineAt(path, 65_536, LONG)).toMatchObject({ line: 2 });
  });

  test('newlines are counted wherever they are', () => {
    const bytes = Buffer.from(Array.from({ length: 400 }, (_, at) => (at * 7919) % 23));
    for (let from = 0; from < 12; from++)
      for (let until = from; until < 60; until++)
        expect(newlinesIn(bytes.subarray(from, until))).toBe(
          bytes.subarray(from, until).filter(byte => byte === 10).length,
        );
    expect(newlinesIn(Buffer.from([0x8a, 0x0a, 0x0b, 0x09, 0x0a, 0x0a, 0x0a, 0xff]))).toBe(4);
  });
});
