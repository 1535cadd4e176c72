import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../testing/turn-fixture.ts';
import { createProcSource, laterThan } from './proc-source.ts';
import type { ProcessInfo } from './process-info.ts';
import { createProcessTable, type Snapshot } from './process-table.ts';
import { createPsSource } from './ps-source.ts';

const turn = { runId: `run_${process.pid}table`, number: 3 };
const child = spawn('/bin/sh', ['-c', 'sleep 61 & wait', 'a (strange) name'], {
  detached: true,
  stdio: 'ignore',
  env: { PATH: process.env.PATH, NOT_SQUAD_RUN_ID: 'x', SQUAD_RUN_ID: turn.runId, SQUAD_TURN: '3' },
});
afterAll(() => process.kill(-child.pid!, 'SIGKILL'));

describe.each([
  ['/proc', () => createProcSource()],
  ['ps', createPsSource],
])('the table from %s', (_, source) => {
  const table = createProcessTable(source());
  let shell: ProcessInfo;
  beforeAll(() =>
    until(async () => (await table.snapshot()).children(child.pid!).length === 1, 'the child of the child'),
  );

  test('knows a process, its parent, its group and its children', async () => {
    const snapshot = await table.snapshot();
    shell = snapshot.get(child.pid!)!;
    expect(shell).toMatchObject({ ppid: process.pid, pgid: child.pid, name: 'sh' });
    expect(Math.abs(Date.now() - shell.startedAt)).toBeLessThan(60_000);
    expect(snapshot.children(child.pid!).map(({ name }) => name)).toEqual(['sleep']);
    expect(
      snapshot
        .group(child.pid!)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['sh', 'sleep']);
  });

  test('finds what carries the mark of a turn, and of no other', async () => {
    const snapshot = await table.snapshot();
    expect(
      snapshot
        .tagged(turn)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['sh', 'sleep']);
    expect(snapshot.tagged({ ...turn, number: 4 })).toEqual([]);
    expect(snapshot.tagged({ runId: 'run_none', number: 3 })).toEqual([]);
  });

  test('tells the whole command line', async () => {
    expect(await table.command(shell)).toBe('/bin/sh -c sleep 61 & wait a (strange) name');
  });

  test('says the same start time at every look', async () => {
    expect((await table.snapshot()).get(child.pid!)?.startTime).toBe(shell.startTime);
    expect(table.alive(shell)).toBe(true);
  });

  test('does not list the dead that nobody has reaped', async () => {
    // It dies after the shell has become a program that reaps nobody; a shell would.
    const parent = spawn('/bin/sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 61'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [said] = await once(parent.stdout, 'data');
    const pid = Number(said);
    await until(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '), 'the unreaped child');
    expect((await table.snapshot()).get(pid)).toBeUndefined();
    parent.kill('SIGKILL');
  });
});

test('a number that another process has now is not alive', async () => {
  const table = createProcessTable(createProcSource());
  const own = (await table.snapshot()).get(process.pid)!;
  expect(table.alive(own)).toBe(true);
  expect(table.alive({ ...own, startTime: '1' })).toBe(false);
});

test('many askers at once share one look, a later one gets a newer', async () => {
  let looks = 0;
  const source = createProcSource();
  const list = () => {
    looks++;
    return source.list();
  };
  const table = createProcessTable({ ...source, list });
  await Promise.all(Array.from({ length: 200 }, () => table.snapshot()));
  expect(looks).toBe(1);
  await table.snapshot();
  expect(looks).toBe(2);
});

test('a shortage while looking is not taken for an empty table', async () => {
  let fails = 2;
  const source = createProcSource();
  const list = async () => {
    if (fails-- > 0) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    return source.list();
  };
  const snapshot = await createProcessTable({ ...source, list }).snapshot();
  expect(snapshot.get(process.pid)).toBeDefined();
});

test('processes that were started after another one are listed without the rest', async () => {
  const table = createProcessTable(createProcSource({ maxLater: Number.POSITIVE_INFINITY }));
  const before = table.countStarted()!;
  const tag = { runId: `run_${process.pid}later`, number: 1 };
  const env = { PATH: process.env.PATH, SQUAD_RUN_ID: tag.runId, SQUAD_TURN: '1' };
  const later = spawn('/bin/sh', ['-c', 'sleep 61 & wait'], { detached: true, stdio: 'ignore', env });
  try {
    let snapshot: Snapshot | null = null;
    const names = () => snapshot?.tagged(tag).map(({ name }) => name);
    await until(() => {
      // Null whenever another process is started at that moment.
      snapshot = table.snapshotAfter(later.pid! - 1, before);
      return names()?.includes('sleep') ?? false;
    }, 'both processes');
    expect(names()?.sort()).toEqual(['sh', 'sleep']);
    const sleep = Number(readFileSync(`/proc/${later.pid}/task/${later.pid}/children`, 'utf8'));
    await until(() => {
      snapshot = table.snapshotAfter(sleep, before);
      return snapshot !== null;
    }, 'a moment without starts');
    expect(names()).toEqual([]);
  } finally {
    process.kill(-later.pid!, 'SIGKILL');
  }
});

test.each([
  ['follow each other', 1_000, 5, { 999: false, 1000: false, 1001: true, 3010: true, 3011: false }],
  ['begin again after the highest one', 32_000, 5, { 31999: false, 32767: true, 1542: true, 1543: false }],
])('process numbers %s', (_, pid, started, expected) => {
  const isLater = laterThan(pid, started, 32_768)!;
  const found = Object.keys(expected).map(other => [other, isLater(Number(other))]);
  expect(Object.fromEntries(found)).toEqual(expected);
});

test('with many later processes, or once numbers may have been used again, nobody knows which processes are later', () => {
  const table = createProcessTable(createProcSource());
  const now = table.countStarted()!;
  expect(laterThan(1_000, 10_000, 32_768)).toBeNull();
  expect(laterThan(1_000, 1, Number.NaN)).toBeNull();
  expect(createProcessTable(createProcSource({ maxLater: 0 })).snapshotAfter(1, now - 1)).toBeNull();
  // A counter that stands still counts nothing.
  expect(table.snapshotAfter(process.pid, Number.MAX_SAFE_INTEGER)).toBeNull();
});
