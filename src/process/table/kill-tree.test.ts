import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { isAlive, TurnsFixture } from '../testing/turn-fixture.ts';
import { createTurnTree } from '../turns/turn-tree.ts';
import { killTree, sweep } from './kill-tree.ts';
import type { ProcessInfo } from './process-info.ts';
import { createProcessTable } from './process-table.ts';

const turns = new TurnsFixture();
const table = createProcessTable();
afterAll(() => turns.remove());

/** A shell in the wrapper's place, that has said `ready`. */
async function leader(script: string, ...args: string[]) {
  const child = spawn('/bin/sh', ['-c', script, 'leader', ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exit = once(child, 'exit');
  await once(child.stdout, 'data');
  return { pid: child.pid!, exit, tree: createTurnTree(table, { runId: 'run_none', number: 1 }, child.pid!) };
}

const now = () => 0;

test('KILL spares the leader and the helper it starts once its agent is dead', async () => {
  const record = turns.path('record');
  const script = 'echo ready; sh -c "sleep 61; :"; sleep 0.3 && echo done >"$1"';
  const { tree, exit } = await leader(script, record);
  expect(await killTree(table, tree, now)).toEqual([]);
  await exit;
  expect(existsSync(record)).toBe(true);
});

test('a leader that does not end by itself is killed in the end', async () => {
  const { tree, exit } = await leader('echo ready; kill -STOP $$');
  expect(await killTree(table, tree, now)).toEqual([]);
  expect(await exit).toEqual([null, 'SIGKILL']);
});

test('an empty turn is swept without a word', async () => {
  const { pid, tree, exit } = await leader('echo ready');
  await exit;
  tree.wrapperEnded(Date.now());
  expect(await sweep(table, tree, 500)).toEqual({ ended: [], survivors: [] });
  expect(isAlive(pid)).toBe(false);
});

test('a helper that ends a moment after its agent is not called a leftover', async () => {
  const { tree, exit } = await leader('echo ready; sleep 0.02 & exit 0');
  await exit;
  tree.wrapperEnded(Date.now());
  expect(await sweep(table, tree, 500)).toEqual({ ended: [], survivors: [] });
});

test('a process that cannot be ended is not listed as ended', async () => {
  const { exit, tree } = await leader('sleep 61 & sleep 62 & echo ready; exit 0');
  await exit;
  tree.wrapperEnded(Date.now());
  // Stands in for another user's process: it is never signalled.
  let spared = 0;
  const command = async (info: ProcessInfo) => {
    const line = await table.command(info);
    if (line === 'sleep 61') spared = info.pid;
    return line;
  };
  const alive = (info: ProcessInfo) => info.pid !== spared && table.alive(info);
  const swept = await sweep({ ...table, command, alive }, tree, 0, 300);
  expect(swept).toEqual({
    ended: [{ pid: expect.any(Number), command: 'sleep 62' }],
    survivors: [{ pid: spared, command: 'sleep 61' }],
  });
  process.kill(spared, 'SIGKILL');
});
