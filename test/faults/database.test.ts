import { closeSync, mkdirSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FaultHome } from './fault-home.ts';
import { until } from './patience.ts';
import {
  ask,
  endOf,
  eventsOf,
  holdDatabase,
  isRefused,
  newHome,
  openHome,
  show,
  sideOf,
  started,
} from './scenario.ts';

const WAIT_TIMEOUT_MS = 40_000;
/** Two running agents and one queued run; then something happens to the database, and they end. */
async function threeRuns(home: FaultHome): Promise<[string, string, string]> {
  await home.set('limits.concurrency', 2);
  const ids = await ask(home, [
    ['plain', 'well lines 20 0.05 0'],
    ['plain', 'badly lines 20 0.05 3'],
    ['plain', 'later lines 2 0 0'],
  ]);
  await Promise.all([started(home, 'well'), started(home, 'badly')]);
  await until('both on record', async () => {
    const types = (await eventsOf(home)).map(({ body }) => body.type);
    return types.filter(type => type === 'run.started').length === 2;
  });
  return ids as [string, string, string];
}

const bothEnded = (home: FaultHome): Promise<boolean> =>
  until('the end of both agents', () => ['well', 'badly'].every(tag => sideOf(home, tag).includes('end')));

async function expectTruth(home: FaultHome, [well, badly, later]: [string, string, string]): Promise<void> {
  expect(await endOf(home, well)).toMatchObject({ run: { status: 'completed' }, turns: [{ exitCode: 0 }] });
  expect(await endOf(home, badly)).toMatchObject({ run: { status: 'error' }, turns: [{ exitCode: 3 }] });
  expect(await endOf(home, later)).toMatchObject({ run: { status: 'completed' }, turns: [{ exitCode: 0 }] });
  for (const id of [well, badly, later]) {
    const types = (await eventsOf(home, id)).map(({ body }) => body.type);
    expect(types).toEqual(['run.queued', 'run.started', 'run.ended']);
  }
  for (const tag of ['well', 'badly', 'later'])
    expect(sideOf(home, tag).filter(line => line.startsWith('start'))).toHaveLength(1);
}

test('a disk that is full while agents end: once there is room again the truth is written', {
  tags: ['R22'],
  timeout: 2 * WAIT_TIMEOUT_MS,
}, async () => {
  const home = newHome();
  const small = join(home.root, 'small');
  mkdirSync(small);
  await startHubOnSmallDisk(home, small);
  const ids = await threeRuns(home);
  const filler = `/proc/${home.hubPids()[0]}/root${small}/filler`;
  fillUp(filler);
  await bothEnded(home);
  await until('the full disk to be noticed', () => isRefused(home, 'No space is left'), WAIT_TIMEOUT_MS);
  const link = await home.hub();
  expect((await show(link, ids[0])).run.status).toBe('running');
  link.close();
  rmSync(filler);
  await expectTruth(home, ids);
});

test(
  'a database that another process keeps locked while agents end: nothing is lost',
  async () => {
    const home = await openHome();
    const ids = await threeRuns(home);
    const release = await holdDatabase(join(home.home, 'squad.db'));
    await bothEnded(home);
    await until('the lock to be noticed', () => isRefused(home, 'keeps the database'), WAIT_TIMEOUT_MS);
    release();
    await expectTruth(home, ids);
  },
  2 * WAIT_TIMEOUT_MS,
);

/** The hub sees the small disk in a namespace of its own; it is reached from here through /proc. */
async function startHubOnSmallDisk(home: FaultHome, small: string): Promise<void> {
  const mount =
    'mount -t tmpfs -o size=1m tmpfs "$1" && export MCP_DATABASE_PATH="$1/squad.db" && shift && exec "$@"';
  // Not a user namespace: from inside one the hub could not see which processes its clients are, and would refuse them.
  const by = ['unshare', '-m', 'sh', '-c', mount, 'sh', small];
  const { code, stderr } = await home.squadThrough(by, 'hub', 'start');
  if (code !== 0)
    throw new Error(
      `A full disk needs a small one to fill, and none can be mounted here (unshare -m, as root): ${stderr}`,
    );
  expect(statSync(`/proc/${home.hubPids()[0]}/root${small}/squad.db`).size).toBeGreaterThan(0);
}

function fillUp(file: string): void {
  const fd = openSync(file, 'w');
  const block = Buffer.alloc(4096);
  try {
    for (let written = 0; written < 16 * 1024 * 1024; ) written += writeSync(fd, block);
    throw new Error(`${file} could grow without end`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(fd);
  }
}
