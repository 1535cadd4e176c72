import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { isAlive, processesOf, type TurnFixture, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { createSupervisor } from './supervisor.ts';

const turns = new TurnsFixture();
const supervisor = createSupervisor({ runsDir: turns.runsDir });
const options = { keepLeftovers: false };
afterAll(() => turns.remove());

const pidSaid = (turn: TurnFixture): number => Number(/pid (\d+)/.exec(turns.read(turn, 'stdout'))?.[1]);

/** Starts a script that says `ready` when it is set up. */
async function started(script: string, more = options) {
  const turn = turns.turn(script);
  const live = await supervisor.start(turn, more);
  await turns.said(turn, 'ready');
  return { turn, live };
}

describe('stop', () => {
  test('ends an agent that listens with TERM, and its record says so', async () => {
    const { turn, live } = await started('echo ready; exec sleep 60');
    live.stop(30_000);
    expect(await live.ended).toMatchObject({ exitCode: 143, leftovers: [] });
    expect(turns.read(turn, 'exit')).toBe('143\n');
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('lets an agent finish its last words within the grace', async () => {
    const { turn, live } = await started(
      'trap "echo bye; exit 9" TERM; echo ready; while :; do sleep 0.05; done',
    );
    live.stop(30_000);
    expect(await live.ended).toMatchObject({ exitCode: 9 });
    expect(turns.read(turn, 'stdout')).toBe('ready\nbye\n');
  });

  test('kills an agent that ignores TERM, and its wrapper still writes the record', {
    tags: ['S12'],
  }, async () => {
    const { turn, live } = await started(`trap '' TERM; echo ready; while :; do sleep 0.05; done`);
    live.stop(100);
    expect(await live.ended).toMatchObject({ exitCode: 137 });
    expect(turns.read(turn, 'exit')).toBe('137\n');
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('reaches a grandchild in a session of its own that ignores TERM', { tags: ['S12'] }, async () => {
    const hidden = `setsid sh -c 'trap "" TERM; echo "pid $$"; echo ready; while :; do sleep 0.05; done' & wait`;
    const { turn, live } = await started(hidden);
    live.stop(100);
    await live.ended;
    expect(isAlive(pidSaid(turn))).toBe(false);
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('reaches a descendant that dropped the mark and left the group', async () => {
    const hidden = `env -i /usr/bin/setsid /bin/sh -c 'trap "" TERM; echo "pid $$"; echo ready; while :; do /bin/sleep 0.05; done' & wait`;
    const { turn, live } = await started(hidden);
    live.stop(100);
    await live.ended;
    expect(isAlive(pidSaid(turn))).toBe(false);
  });

  test('reaches an orphan that dropped the mark and left the session, by the output it still holds', {
    tags: ['S12'],
  }, async () => {
    const hidden = `(env -i /usr/bin/setsid /bin/sh -c 'echo "pid $$"; echo ready; exec /usr/bin/env -i /bin/sleep 61' &); exec sleep 60`;
    const { turn, live } = await started(hidden);
    const command = () => readFileSync(`/proc/${pidSaid(turn)}/cmdline`, 'utf8');
    await until(() => command().startsWith('/bin/sleep'), 'the orphan');
    live.stop(100);
    await live.ended;
    expect(isAlive(pidSaid(turn))).toBe(false);
  });

  test('a second stop with less grace is the one that counts', async () => {
    const { live } = await started(`trap '' TERM; echo ready; while :; do sleep 0.05; done`);
    live.stop(3_600_000);
    live.stop(50);
    live.stop(3_600_000);
    expect(await live.ended).toMatchObject({ exitCode: 137 });
  });

  test('of many at once spares each record, whatever is being written at that moment', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, () => started(`trap '' TERM; echo ready; while :; do sleep 0.05; done`)),
    );
    for (const { live } of all) live.stop(50);
    for (const { turn, live } of all) {
      expect(await live.ended).toMatchObject({ exitCode: 137 });
      expect(turns.read(turn, 'exit')).toBe('137\n');
    }
  });

  test('right after the start leaves nothing running', async () => {
    const all = Array.from({ length: 20 }, () => turns.turn('exec sleep 60'));
    const ends = await Promise.all(
      all.map(async turn => {
        const live = await supervisor.start(turn, options);
        live.stop(200);
        return live.ended;
      }),
    );
    // Null: the wrapper itself was hit before it had come to its first line.
    for (const end of ends) expect([137, 143, null]).toContain(end.exitCode);
    for (const turn of all) expect(await processesOf(turn.runId)).toEqual([]);
  });
});

describe('at a normal end', () => {
  test('processes that the agent left behind are ended and reported', { tags: ['S12'] }, async () => {
    const turn = turns.turn(`sleep 61 & setsid sh -c 'trap "" TERM; while :; do sleep 0.05; done' & exit 0`);
    const end = await (await supervisor.start(turn, options)).ended;
    expect(end.exitCode).toBe(0);
    const commands = end.leftovers.map(({ command }) => command);
    expect(commands).toContain('sleep 61');
    expect(commands.some(command => command.includes('while :; do sleep 0.05; done'))).toBe(true);
    for (const { pid } of end.leftovers) expect(isAlive(pid)).toBe(false);
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('a long command line is reported in short', async () => {
    const turn = turns.turn(`sh -c 'while :; do sleep 0.05; done' ${'x'.repeat(500)} & exit 0`);
    const end = await (await supervisor.start(turn, options)).ended;
    expect(Math.max(...end.leftovers.map(({ command }) => command.length))).toBe(200);
  });

  test('a role may keep what it left', async () => {
    const turn = turns.turn('sleep 61 & echo "pid $!"; exit 0');
    const end = await (await supervisor.start(turn, { keepLeftovers: true })).ended;
    expect(end.leftovers).toEqual([]);
    expect(isAlive(pidSaid(turn))).toBe(true);
    process.kill(pidSaid(turn), 'SIGKILL');
  });

  test('two turns of one run are distinguished', async () => {
    const first = turns.turn('sleep 61 & echo "pid $!"; exit 0');
    await (await supervisor.start(first, { keepLeftovers: true })).ended;
    const second = { ...turns.turn('exit 0'), runId: first.runId, number: 2 };
    mkdirSync(turns.folder(second));
    const end = await (await supervisor.start(second, options)).ended;
    expect(end.leftovers).toEqual([]);
    expect(isAlive(pidSaid(first))).toBe(true);
    process.kill(pidSaid(first), 'SIGKILL');
  });
});

describe('a wrapper that is killed', () => {
  test('takes its tree with it, and nobody invents an exit code', async () => {
    const { turn, live } = await started('setsid sleep 61 & echo "pid $!"; echo ready; wait');
    process.kill(live.pid, 'SIGKILL');
    const end = await live.ended;
    expect(end).toMatchObject({ exitCode: null, spawnError: null });
    expect(await processesOf(turn.runId)).toEqual([]);
    expect(await supervisor.find(turn, options)).toMatchObject({ state: 'gone' });
  });

  test('while its agent is being stopped has ended when the agent has', async () => {
    const go = join(turns.runsDir, 'go');
    const { turn, live } = await started(
      `trap 'echo stopping' TERM; echo ready; while [ ! -e '${go}' ]; do sleep 0.05; done`,
    );
    live.stop(30_000);
    await turns.said(turn, 'stopping');
    process.kill(live.pid, 'SIGKILL');
    const killedAt = Date.now();
    await until(async () => !isAlive(live.pid) && Date.now() > killedAt + 200, 'the end of the wrapper');
    const releasedAt = Date.now();
    writeFileSync(go, '');
    const end = await live.ended;
    expect(end.exitCode).toBeNull();
    expect(end.endedAt).toBeGreaterThanOrEqual(releasedAt);
  });

  test('by its agent, through the whole group, does not happen: it outlives a group TERM', async () => {
    const turn = turns.turn('kill -TERM 0; sleep 60');
    const end = await (await supervisor.start(turn, options)).ended;
    expect(end.exitCode).toBe(143);
    await until(async () => (await processesOf(turn.runId)).length === 0, 'an empty tree');
  });
});
