import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createRunFiles } from '../../process/output/run-files.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';
import { BoardHub } from '../testing/board-hub.ts';
import { searchNewest } from './search-everything.ts';

const home = mkdtempSync(join(tmpdir(), 'squad-newest-'));
afterAll(() => rmSync(home, { recursive: true }));

/** Runs of a database and files of their own; each run one second older than the one before. */
async function hubOf(outputs: { turns?: number; text(turn: number, stream: string): string }[]) {
  const hub = await BoardHub.open();
  const folder = mkdtempSync(join(home, 'hub-'));
  const files = createRunFiles<RunId>({ runsDir: join(folder, 'runs'), chatsDir: join(folder, 'chats') });
  const runs: Run[] = [];
  for (const [at, { turns = 1, text }] of outputs.entries()) {
    const run = hub.run({
      status: 'completed',
      turn: turns,
      createdAt: hub.now - at * 1000,
      title: `Task ${at}`,
    });
    for (let number = 1; number <= turns; number++) {
      await files.prepare({ runId: run.id, number }, '');
      for (const stream of ['stdout', 'stderr'] as const)
        writeFileSync(files.outputPath({ runId: run.id, number }, stream), text(number, stream));
    }
    runs.push(run);
  }
  await hub.put(...runs);
  return { services: { ...hub.services, files } as Services, runs, now: hub.now };
}

const wanted = { q: 'needle', workspace: undefined, limit: 20, signal: new AbortController().signal };

test('newest run and turn first, both streams, a few lines of each, and what was read is said', async () => {
  const { services, runs, now } = await hubOf([
    { text: () => 'hay\n' },
    {
      turns: 2,
      text: (turn, stream) => (stream === 'stderr' || turn === 2 ? 'hay\n' : 'a Needle\nNEEDLE\n'),
    },
    { text: (_, stream) => (stream === 'stdout' ? 'hay\n' : 'needle\n'.repeat(9)) },
  ]);
  const { found, searched } = await searchNewest(services, wanted);
  expect(found).toMatchObject([
    {
      ...{ runId: runs[1]!.id, title: 'Task 1', turn: 1, stream: 'stdout', isMore: false },
      matches: [
        { line: 1, text: 'a Needle', column: 2 },
        { line: 2, text: 'NEEDLE', column: 0 },
      ],
    },
    { runId: runs[2]!.id, turn: 1, stream: 'stderr', isMore: true, matches: [{}, {}, {}] },
  ]);
  expect(searched).toEqual({ runs: 3, since: now - 2000, stoppedBy: null });
});

test('older runs than the newest fifty are not read, and that is said', async () => {
  const { services, now } = await hubOf(
    Array.from({ length: 52 }, (_, at) => ({ text: () => (at === 51 ? 'needle\n' : '\n') })),
  );
  const { found, searched } = await searchNewest(services, wanted);
  expect(found).toEqual([]);
  expect(searched).toEqual({ runs: 50, since: now - 49_000, stoppedBy: 'count' });
});

test('when the time is up it says how far it came', async () => {
  const { services, now } = await hubOf(Array.from({ length: 9 }, () => ({ text: () => 'needle\n' })));
  let at = now;
  const slow = { ...services, clock: { ...services.clock, monotonic: () => (at += 300) } };
  const { found, searched } = await searchNewest(slow, wanted);
  expect(searched).toEqual({ runs: 3, since: now - 2000, stoppedBy: 'time' });
  expect(found).toHaveLength(6);
});

test('enough is enough, and whoever has gone away is searched for no longer', async () => {
  const { services } = await hubOf(Array.from({ length: 3 }, () => ({ text: () => 'needle\n' })));
  const { found, searched } = await searchNewest(services, { ...wanted, limit: 3 });
  expect(found).toHaveLength(3);
  expect(searched).toMatchObject({ runs: 1, stoppedBy: 'enough' });
  expect(await searchNewest(services, { ...wanted, signal: AbortSignal.abort() })).toMatchObject({
    found: [],
    searched: { runs: 0, since: null },
  });
});
