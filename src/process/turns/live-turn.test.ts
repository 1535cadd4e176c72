import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createProcessTable } from '../table/process-table.ts';
import { processesOf, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { watchTurn } from './live-turn.ts';
import { createSupervisor } from './supervisor.ts';

const turns = new TurnsFixture();
afterAll(() => turns.remove());

test('after a stop nothing counts as left behind, and a process that could not be ended is reported', async () => {
  const child = spawn('/bin/sh', ['-c', 'setsid sleep 61 & echo $!; sleep 62; exit 0'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const wrapperEnd = once(child, 'exit').then(() => null);
  const spared = Number(String((await once(child.stdout, 'data'))[0]));
  const table = createProcessTable();
  const turn = turns.turn('true');
  const errors: string[] = [];
  const live = watchTurn({
    // Stands in for another user's process: it is never signalled.
    table: { ...table, alive: info => info.pid !== spared && table.alive(info) },
    turn,
    folder: turns.folder(turn),
    pid: child.pid!,
    keepLeftovers: false,
    wrapperEnd,
    onError: said => errors.push(said),
    giveUpMs: 300,
  });
  live.stop(0);
  expect(await live.ended).toMatchObject({ leftovers: [] });
  expect(errors).toEqual([`Could not end process ${spared} (sleep 61) of turn 1 of ${turn.runId}`]);
  process.kill(spared, 'SIGKILL');
});

test('a stop that comes when the agent has ended by itself, but nobody has noticed, leaves what it left to be reported', async () => {
  const turn = turns.turn('setsid sleep 61 & echo ready');
  const supervisor = createSupervisor({ runsDir: turns.runsDir });
  const { pid } = await supervisor.start(turn, { keepLeftovers: true });
  await until(() => existsSync(join(turns.folder(turn), 'exit')), 'the record');
  const noticed = Promise.withResolvers<null>();
  const live = watchTurn({
    table: createProcessTable(),
    turn,
    folder: turns.folder(turn),
    pid,
    keepLeftovers: false,
    wrapperEnd: noticed.promise,
    onError: () => {},
  });
  live.stop(0);
  noticed.resolve(null);
  expect(await live.ended).toMatchObject({ exitCode: 0, leftovers: [{ command: 'sleep 61' }] });
  expect(await processesOf(turn.runId)).toEqual([]);
});
