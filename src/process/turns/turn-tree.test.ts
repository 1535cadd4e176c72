import { describe, expect, test } from 'vitest';
import type { ProcessInfo, Tag } from '../table/process-info.ts';
import { createProcessTable } from '../table/process-table.ts';
import { createTurnTree } from './turn-tree.ts';

const turn = { runId: 'run_a', number: 1 };
const WRAPPER = 500_000;

const at = (pid: number, more: Partial<ProcessInfo> = {}): ProcessInfo => ({
  pid,
  ppid: 1,
  pgid: pid,
  sid: pid,
  startTime: `t${pid}`,
  startedAt: 1000,
  name: 'x',
  isStopped: false,
  cpuMs: 0,
  ...more,
});

/** A table whose rows the test changes. */
function given({ isNew = false } = {}) {
  const world = { rows: [] as ProcessInfo[], tags: new Map<number, Tag>() };
  const table = createProcessTable({
    list: async () => world.rows,
    line: async () => [],
    tags: async () => world.tags,
    alive: () => true,
    command: async ({ name }) => name,
    ioBytes: () => null,
    countStarted: () => 1,
    listAfter: pid => [world.rows.filter(each => each.pid > pid), world.tags],
  });
  const tree = createTurnTree(table, turn, WRAPPER, { isNew });
  const pids = async () => (await tree.members()).others.map(({ pid }) => pid).sort();
  return { world, tree, pids };
}

test('members are the group, the session, the tagged and all that descends from these', async () => {
  const { world, tree, pids } = given();
  world.rows = [
    at(WRAPPER),
    at(2001, { ppid: WRAPPER, pgid: WRAPPER }),
    at(2002, { sid: WRAPPER }),
    at(2003),
    at(2004, { ppid: 2003 }),
    at(2005, { ppid: 2004 }),
    at(2006),
    at(2007),
    at(2008),
  ];
  world.tags = new Map([
    [2003, { runId: 'run_a', turn: '1' }],
    [2006, { runId: 'run_a', turn: null }],
    [2007, { runId: 'run_a', turn: '2' }],
    [2008, { runId: 'run_b', turn: '1' }],
  ]);
  expect(await pids()).toEqual([2001, 2002, 2003, 2004, 2005, 2006]);
  expect((await tree.members()).wrapper?.pid).toBe(WRAPPER);
});

test('a process that was found once stays known after its parent died, but its number alone is not enough', async () => {
  const { world, pids } = given();
  world.rows = [at(WRAPPER), at(2001, { ppid: WRAPPER }), at(2002, { ppid: 2001 }), at(2003, { ppid: 2001 })];
  expect(await pids()).toEqual([2001, 2002, 2003]);
  world.rows = [at(WRAPPER), at(2002), at(2003, { startTime: 'another' })];
  expect(await pids()).toEqual([2002]);
});

test('this process, its ancestors and their other children are never members', async () => {
  const { world, pids } = given();
  world.rows = [
    at(WRAPPER),
    at(process.ppid, { ppid: WRAPPER }),
    at(process.pid, { ppid: process.ppid, pgid: WRAPPER }),
    at(2002, { ppid: process.pid }),
  ];
  world.tags = new Map([[process.pid, { runId: 'run_a', turn: '1' }]]);
  expect(await pids()).toEqual([]);
});

test('a wrapper whose number went to a stranger is nobody, and neither is the group', async () => {
  const { world, tree, pids } = given();
  world.rows = [at(WRAPPER)];
  await tree.members();
  world.rows = [at(WRAPPER, { startTime: 'another' }), at(2001, { pgid: WRAPPER })];
  expect((await tree.members()).wrapper).toBeNull();
  expect(await pids()).toEqual([]);
});

test('after the end only what was started before it counts as the group', async () => {
  const { world, tree, pids } = given();
  world.rows = [at(2001, { pgid: WRAPPER, startedAt: 4000 }), at(2002, { pgid: WRAPPER, startedAt: 60_000 })];
  tree.wrapperEnded(5000);
  expect(await pids()).toEqual([2001]);
});

test('after an end at an unknown time the group says nothing', async () => {
  const { world, tree, pids } = given();
  world.rows = [at(2001, { pgid: WRAPPER })];
  tree.wrapperEnded(null);
  expect(await pids()).toEqual([]);
});

describe('proof that nothing is left', () => {
  const later = WRAPPER + 1;
  const ended = () => {
    const found = given({ isNew: true });
    found.tree.wrapperEnded(5000);
    return found;
  };

  test('is proven when no later process belongs to the turn', () => {
    const { world, tree } = ended();
    world.rows = [at(2001), at(later)];
    expect(tree.isProvenEmpty()).toBe(true);
  });

  test.each<[string, Partial<ProcessInfo>, Tag | null]>([
    ['in its group', { pgid: WRAPPER }, null],
    ['in its session', { sid: WRAPPER }, null],
    ['with its mark in a session of its own', {}, { runId: 'run_a', turn: '1' }],
  ])('is not proven while one %s lives', (_, more, tag) => {
    const { world, tree } = ended();
    world.rows = [at(later, more)];
    if (tag) world.tags.set(later, tag);
    expect(tree.isProvenEmpty()).toBe(false);
  });

  test('is not proven while one lives that was seen below it before', async () => {
    const { world, tree } = given({ isNew: true });
    world.rows = [at(WRAPPER), at(later, { ppid: WRAPPER })];
    await tree.members();
    tree.wrapperEnded(5000);
    world.rows = [at(later)];
    expect(tree.isProvenEmpty()).toBe(false);
  });

  test('is not proven while the wrapper lives, nor for one that was not watched from its start', () => {
    expect(given({ isNew: true }).tree.isProvenEmpty()).toBe(false);
    const { tree } = given();
    tree.wrapperEnded(5000);
    expect(tree.isProvenEmpty()).toBe(false);
  });
});
