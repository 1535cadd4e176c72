import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askHub } from '../../support/ask-hub.ts';
import { script } from '../../support/git-squad.ts';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
let run: string;
beforeAll(async () => {
  const task = `Talk${script('say first words', 'say the needle is here', 'say last words', 'stderr a needle too')}`;
  ({
    runIds: [run],
  } = await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', task]));
  await squad.run(['wait', run]);
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Found {
  matches: { line: number; offset: number; text: string; column: number }[];
  next: number | null;
  isComplete: boolean;
}
const search = (input: object) => askHub<Found>(squad, 'search_output', { run, ...input });
const read = (input: object) =>
  askHub<{ text: string; offset: number; firstLine: number | null }>(squad, 'read_output', { run, ...input });
const locate = (input: object) =>
  askHub<{ line: number; offset: number; lines: number }>(squad, 'locate_output', { run, ...input });

test('words of events are found as they are read, and raw ones as they are written', async () => {
  const { matches, isComplete } = await search({ q: 'Needle', readable: true });
  expect(matches).toMatchObject([{ text: 'the needle is here', column: 4 }]);
  expect(isComplete).toBe(true);
  expect((await search({ q: '"text":"the needle' })).matches).toMatchObject([{ line: matches[0]!.line }]);
  expect((await search({ q: '"text":"the needle', readable: true })).matches).toEqual([]);
  expect((await search({ q: 'needle', stream: 'stderr' })).matches).toMatchObject([{ line: 1, column: 2 }]);
  const from = matches[0]!.offset;
  expect((await read({ offset: from, readable: true })).text).toMatch(/^the needle is here\nlast words\n/);
});

test('a line is found by its number, a number by the byte, and a page says where it begins', async () => {
  const [match] = (await search({ q: 'needle' })).matches;
  const { line, offset } = match!;
  expect(await locate({ line })).toMatchObject({ line, offset });
  expect(await locate({ offset: offset + 5 })).toMatchObject({ line, offset });
  const page = await read({ offset: offset - 3, lines: true });
  expect([page.offset, page.firstLine]).toEqual([offset, line]);
  expect(page.text.startsWith('{')).toBe(true);
  expect((await read({ offset })).firstLine).toBeNull();
});

test('line numbers continue on the next page', async () => {
  writeFileSync(join(squad.home, 'runs', run, 'turn-1', 'stderr'), 'x needle\ny\n'.repeat(50));
  const first = await search({ q: 'needle', stream: 'stderr', limit: 20 });
  const rest = await search({ q: 'needle', stream: 'stderr', after: first.next, limit: 500 });
  const lines = [...first.matches, ...rest.matches].map(({ line }) => line);
  expect(lines).toEqual(Array.from({ length: 50 }, (_, at) => at * 2 + 1));
});

test('an invalid search is refused with the reason', async () => {
  await expect(search({ q: '(', isRegex: true })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  writeFileSync(join(squad.home, 'runs', run, 'turn-1', 'stderr'), `${'a'.repeat(80)}!\n`);
  await expect(search({ q: '^(a+)+$', isRegex: true, stream: 'stderr' })).rejects.toThrow('takes too long');
  await expect(search({ q: '' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(locate({})).rejects.toThrow('either line or offset');
  await expect(locate({ line: 1, offset: 1 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
