import { expect, test } from 'vitest';
import type { Run } from '../../schema/run.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { READ_ON, RESULT_LIMIT, squadResult } from './run-result.ts';

type Services = Parameters<typeof squadResult>[0];

const squad = aSquad();
const members = (count: number) =>
  Array.from({ length: count }, (_, position) =>
    aRun(squad, { position, status: 'completed', evidence: null }),
  );

/** Services that know nothing but what each run printed. */
const printed = (text: (run: Run) => string): Services => {
  const files = {
    answer: async (id: string) => text(all.get(id)!),
    page: async () => ({ text: '', offset: 0, nextOffset: 0, size: 0 }),
    outputPath: ({ runId }: { runId: string }) =>
      `/state/${'a-long-folder/'.repeat(4)}${runId}/turn-1/stdout`,
  };
  return { files, inbox: { openFor: () => [] } } as unknown as Services;
};
const all = new Map<string, Run>();
const result = (runs: Run[], text: (run: Run) => string, metadata?: Record<string, unknown>) => {
  for (const run of runs) all.set(run.id, run);
  return squadResult(printed(text), { id: squad.id, metadata }, runs);
};

test('members with short outputs share one page up to the limit', async () => {
  const text = () => 'done';
  let count = 1;
  for (; JSON.stringify(await result(members(count + 1), text)).length <= RESULT_LIMIT - 200; count++) {
    const { nextOffset } = await result(members(count), text);
    expect(nextOffset).toBeUndefined();
  }
  const all = await result(members(count), text);
  expect(all.members).toHaveLength(count);
  expect(JSON.stringify(all).length).toBeGreaterThan(RESULT_LIMIT - 700);
});

test('a note that is too long says where all of it is', async () => {
  const notes = Array.from(
    { length: 9 },
    (_, i) => `The MCP server s${i} was not available: there is no program.`,
  );
  const [run] = members(1);
  const { members: shown } = await result([{ ...run!, notes }], () => 'done');
  expect(shown[0]!.note).toMatch(/^The MCP server s0 .* … \(`squad show run_\w+` has all notes\)$/);
  expect(shown[0]!.note!.length).toBeLessThanOrEqual(400);
});

test('a squad is paged only when its page is full', { tags: ['A2'] }, async () => {
  for (const length of [0, 50, 350, 450, 5_000]) {
    const page = await result(members(200), () => 'x'.repeat(length));
    const size = JSON.stringify(page).length;
    expect(page.nextOffset).toBe(page.members.length);
    expect(size).toBeLessThanOrEqual(RESULT_LIMIT);
    expect(size).toBeGreaterThan(RESULT_LIMIT - 900);
  }
});

test('texts cut too short to name the next call share one note', async () => {
  const text = () => 'a word '.repeat(5_000);
  const roomy = await result(members(2), text);
  expect(roomy.members[0]!.rawStdout).toMatch(/get_result .* reads on/);
  expect(roomy.note).toBeUndefined();
  let tight = 0;
  for (let filler = RESULT_LIMIT - 1_000; filler < RESULT_LIMIT - 300; filler += 25) {
    const page = await result(members(1), text, { filler: 'x'.repeat(filler) });
    const isSaid = page.members[0]!.rawStdout.includes('reads on');
    expect(page.note).toBe(isSaid ? undefined : READ_ON);
    if (!isSaid) tight++;
  }
  expect(tight).toBeGreaterThan(0);
});
