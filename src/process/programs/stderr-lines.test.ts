import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { readStderr } from './service.ts';

const SECOND = 1024 * 1024;
const MARK = /^\[\d+ bytes left out\]$/;

/** Lines that are read from these pieces, when each arrives alone and all within one second. */
async function read(...pieces: string[]): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  readStderr(
    stream,
    line => lines.push(line),
    () => 0,
  );
  for (const piece of pieces) {
    stream.write(piece);
    await new Promise(settle => setImmediate(settle));
  }
  stream.end();
  await new Promise(settle => stream.once('close', settle));
  return lines;
}

const MUCH = `${'x'.repeat(1023)}\n`.repeat(SECOND / 1024);
test.each([
  { where: 'at the beginning of what is left out', flood: ['half ', `apart\n${MUCH}`] },
  { where: 'at its end', flood: [MUCH, `${'half '.repeat(4_000)}apart\n`] },
  { where: 'not of one without an end either', flood: [MUCH, 'half '.repeat(SECOND / 4), 'apart\n'] },
])('no half of a line is shown, $where', async ({ flood }) => {
  const lines = await read(`${'x'.repeat(SECOND - 10)}\n`, ...flood, 'the last\n');
  expect(lines.filter(line => /half|apart/.test(line))).toEqual([]);
  expect(lines.filter(line => MARK.test(line))).toHaveLength(1);
  expect(lines.at(-1)).toBe('the last');
});

test('a line that nobody ended is not whole where its beginning was left out', async () => {
  expect(await read(MUCH, MUCH, 'half '.repeat(SECOND / 4))).not.toContainEqual(
    expect.stringContaining('half'),
  );
});

test('of a little too much nothing is left out', async () => {
  const lines = await read(`${'x'.repeat(SECOND - 10)}\n`, 'a whole ', 'line\n', 'the last\n');
  expect(lines.slice(1)).toEqual(['a whole line', 'the last']);
});

test('the last lines of a flood are kept, also when each comes in a piece of its own', async () => {
  const lines = await read('noise\n'.repeat(400_000), 'first of the end\n', 'the last ', 'line\n');
  expect(lines.slice(-2)).toEqual(['first of the end', 'the last line']);
  const marks = lines.filter(line => MARK.test(line));
  expect(marks).toHaveLength(1);
});
