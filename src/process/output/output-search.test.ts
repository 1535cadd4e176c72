import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type OutputQuery, searchOutput } from './output-search.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-search-'));
afterAll(() => rmSync(folder, { recursive: true }));
let made = 0;

function file(content: string | Buffer): string {
  const path = join(folder, `f${made++}`);
  writeFileSync(path, content);
  return path;
}

const query = (q: string, more: Partial<OutputQuery> = {}): OutputQuery => ({
  ...{ q, isRegex: false, isCaseSensitive: false, after: 0, limit: 100, budgetMs: 60_000, words: null },
  ...more,
});

describe('words in an output', () => {
  test('are found whatever their case, unless it matters; a character with a meaning has none', async () => {
    const path = file('An ERROR (1)\r\nno\nerror. (1)\nÉTÉ');
    expect(await searchOutput(path, query('error'))).toEqual({
      matches: [
        { line: 1, offset: 0, text: 'An ERROR (1)', column: 3 },
        { line: 3, offset: 17, text: 'error. (1)', column: 0 },
      ],
      next: null,
    });
    const exact = await searchOutput(path, query('error', { isCaseSensitive: true }));
    expect(exact.matches.map(({ line }) => line)).toEqual([3]);
    expect((await searchOutput(path, query('r. (1)'))).matches).toMatchObject([{ line: 3, column: 4 }]);
    expect((await searchOutput(path, query('été'))).matches).toMatchObject([{ line: 4, offset: 28 }]);
    expect((await searchOutput(path, query('-/\\^$'))).matches).toEqual([]);
  });

  test('are found as the output view shows them: without colours, with everything else', async () => {
    const path = file('\u001b[31mfa\u001b[0miled\u001b]0;title\u0007\n10%\r100%\r\n');
    const shown = 'failed\u001b]0;title\u0007';
    expect((await searchOutput(path, query('failed'))).matches).toMatchObject([{ line: 1, text: shown }]);
    expect((await searchOutput(path, query('title'))).matches).toMatchObject([{ line: 1, text: shown }]);
    expect((await searchOutput(path, query('0%'))).matches).toMatchObject([{ line: 2, text: '10%\r100%' }]);
    expect((await searchOutput(path, query('100%\r'))).matches).toEqual([]);
  });

  test('go on where the limit was reached, and none is found twice or missed', async () => {
    const path = file('x needle\nhay\n'.repeat(10));
    const lines: number[] = [];
    let after: number | null = 0;
    for (let page = 0; after !== null && page < 20; page++) {
      const found = await searchOutput(path, query('needle', { after, limit: 3 }));
      for (const { offset } of found.matches) lines.push(offset);
      after = found.next;
    }
    expect(lines).toEqual(Array.from({ length: 10 }, (_, at) => at * 13));
  });

  test('characters that are not valid do not move anything', async () => {
    const path = file(Buffer.concat([Buffer.from([0xff, 0xfe, 0x80, 0x0a]), Buffer.from('ok é needle\n')]));
    expect((await searchOutput(path, query('needle'))).matches).toEqual([
      { line: 2, offset: 4, text: 'ok é needle', column: 5 },
    ]);
  });

  test('at the edge of what is read at once are found whole', async () => {
    const edge = 256 * 1024;
    const line = `${'.'.repeat(98)}€\n`;
    const content = line.repeat(Math.ceil((edge * 3) / Buffer.byteLength(line)));
    const path = file(`${content}é needle é`);
    expect(await searchOutput(path, query('é needle é'))).toMatchObject({
      matches: [{ offset: Buffer.byteLength(content), line: content.length / line.length + 1 }],
    });
    expect((await searchOutput(path, query('\ufffd'))).matches).toEqual([]);
  });

  test('in a line of megabytes are found in its beginning, and the lines after it keep their numbers', async () => {
    const path = file(`a needle${'x'.repeat(5_000_000)}\nb needle\n`);
    const { matches, next } = await searchOutput(path, query('needle'));
    expect(matches.map(({ line, offset, text }) => [line, offset, text.length])).toEqual([
      [1, 0, 400],
      [2, 5_000_009, 8],
    ]);
    expect(next).toBeNull();
  });

  test('in a GiB are looked for a piece a call', async () => {
    const path = file('needle 1\n');
    truncateSync(path, 2 ** 30);
    appendFileSync(path, '\nneedle 2\n');
    const first = await searchOutput(path, query('needle', { budgetMs: 0 }));
    expect(first.matches).toMatchObject([{ line: 1 }]);
    expect(first.next).toBe(9);
    const second = await searchOutput(path, query('needle', { after: 9 }));
    expect(second.matches).toEqual([{ line: 2, offset: 2 ** 30 + 1, text: 'needle 2', column: 0 }]);
  });

  test('can be those that lines stand for', async () => {
    const path = file('{"say":"hello"}\n{"say":"bye"}\n');
    const words = (line: string) => (JSON.parse(line) as { say: string }).say;
    expect((await searchOutput(path, query('bye', { words }))).matches).toMatchObject([
      { line: 2, text: 'bye' },
    ]);
    expect((await searchOutput(path, query('say', { words }))).matches).toEqual([]);
  });

  test('of an output that is not there are none', async () => {
    expect(await searchOutput(join(folder, 'none'), query('x'))).toEqual({ matches: [], next: null });
  });
});

describe('a pattern', () => {
  test('is tried on each line by itself', async () => {
    const path = file('one 12\ntwo\nthree 3456\n');
    const { matches } = await searchOutput(path, query('\\d{2,}$', { isRegex: true }));
    expect(matches.map(({ line, column }) => [line, column])).toEqual([
      [1, 4],
      [3, 6],
    ]);
  });

  test('that is none is refused', async () => {
    await expect(searchOutput(file('x'), query('(', { isRegex: true }))).rejects.toMatchObject({
      code: 'PATTERN_INVALID',
    });
  });

  test('that would take for ever is stopped', async () => {
    const path = file(`${'a'.repeat(60)}!\n`);
    await expect(searchOutput(path, query('^(a+)+$', { isRegex: true }))).rejects.toMatchObject({
      code: 'PATTERN_TOO_SLOW',
      message: 'The pattern takes too long on these lines of the output',
    });
    // And the next search is as good as the first.
    const { matches } = await searchOutput(path, query('a!$', { isRegex: true }));
    expect(matches).toHaveLength(1);
  });
});
