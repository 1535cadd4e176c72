import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createProcessTable } from '../table/process-table.ts';
import { isAlive, processesOf, type TurnFixture, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { createSupervisor } from './supervisor.ts';

const turns = new TurnsFixture();
const options = { keepLeftovers: false };
const nextHub = () => createSupervisor({ runsDir: turns.runsDir });
afterAll(() => turns.remove());

const HUB = `
  import { createSupervisor } from ${JSON.stringify(new URL('./supervisor.ts', import.meta.url).href)};
  const { runsDir, turn } = JSON.parse(process.argv[1]);
  const live = await createSupervisor({ runsDir }).start(turn, { keepLeftovers: false });
  process.stdout.write(String(live.pid));
  setInterval(() => {}, 60_000);
`;

/** Starts the turn from another process and kills that process with -9 once the agent has said `ready`. */
async function startedByOneThatDied(turn: TurnFixture): Promise<number> {
  const argument = JSON.stringify({ runsDir: turns.runsDir, turn });
  const hub = spawn(process.execPath, ['--input-type=module', '-e', HUB, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(hub.stdout, 'data');
  await turns.said(turn, 'ready');
  hub.kill('SIGKILL');
  await once(hub, 'exit');
  return Number(said);
}

async function foundLive(turn: TurnFixture, more = options) {
  const found = await nextHub().find(turn, more);
  if (found.state !== 'live') throw new Error(`Found it ${found.state}`);
  return found.turn;
}

describe('after kill -9 of the supervising process', () => {
  test('a living turn is found, goes on, and ends with its true code and whole output', {
    tags: ['D10', 'F2'],
  }, async () => {
    const turn = turns.turn(`echo ready; while [ ! -e "$1" ]; do sleep 0.02; done; echo done; exit 6`);
    turn.command.argv.push('sh', turns.path('go-on'));
    const pid = await startedByOneThatDied(turn);
    const live = await foundLive(turn);
    expect(live.pid).toBe(pid);
    writeFileSync(turns.path('go-on'), '');
    const end = await live.ended;
    expect(end).toMatchObject({ exitCode: 6, leftovers: [], endedAt: recordTime(turn) });
    expect(turns.read(turn, 'stdout')).toBe('ready\ndone\n');
  });

  test('a turn that ended meanwhile has its true end, and what it left is ended', {
    tags: ['D10'],
  }, async () => {
    const turn = turns.turn(`setsid sleep 61 & echo ready; exit 4`);
    await startedByOneThatDied(turn);
    await until(() => existsSync(join(turns.folder(turn), 'exit')), 'the record');
    const found = await nextHub().find(turn, options);
    expect(found).toMatchObject({ state: 'ended', end: { exitCode: 4, endedAt: recordTime(turn) } });
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('a living turn can be stopped, by KILL if need be, and has a record', async () => {
    const turn = turns.turn(`trap '' TERM; setsid sleep 61 & echo ready; while :; do sleep 0.05; done`);
    await startedByOneThatDied(turn);
    const live = await foundLive(turn);
    live.stop(100);
    expect(await live.ended).toMatchObject({ exitCode: 137 });
    expect(turns.read(turn, 'exit')).toBe('137\n');
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('a turn whose wrapper was killed too is gone, with all that was left of it', {
    tags: ['S11'],
  }, async () => {
    const turn = turns.turn('setsid sleep 61 & echo ready; sleep 60');
    const pid = await startedByOneThatDied(turn);
    process.kill(pid, 'SIGKILL');
    await until(() => !isAlive(pid), 'the end of the wrapper');
    expect(await nextHub().find(turn, options)).toMatchObject({ state: 'gone' });
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('a found turn whose wrapper dies later has an end without a code', async () => {
    const turn = turns.turn('echo ready; sleep 60');
    const pid = await startedByOneThatDied(turn);
    const live = await foundLive(turn);
    process.kill(pid, 'SIGKILL');
    expect(await live.ended).toMatchObject({ exitCode: null });
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('a program that could not be run is still reported in the words of the shell', async () => {
    const turn = turns.turn(['/no/such/program']);
    const live = await nextHub().start(turn, options);
    await live.ended;
    const found = await nextHub().find(turn, options);
    expect(found).toMatchObject({
      state: 'ended',
      end: { exitCode: 127, spawnError: expect.stringContaining('/no/such') },
    });
  });
});

describe('whether a turn has begun', () => {
  test('not without a wrapper that took its folder, whether the folder is there or not', async () => {
    const turn = turns.turn('true');
    expect(await nextHub().hasBegun(turn)).toBe(false);
    rmSync(turns.folder(turn), { recursive: true });
    expect(await nextHub().hasBegun(turn)).toBe(false);
  });

  test('with its folder taken: by a running agent, one that ended, and a wrapper that died before it wrote its pid', async () => {
    const turn = turns.turn('echo ready; sleep 60');
    const pid = await startedByOneThatDied(turn);
    expect(await nextHub().hasBegun(turn)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await nextHub().find(turn, options);
    expect(await nextHub().hasBegun(turn)).toBe(true);
    const interrupted = turns.turn('true');
    writeFileSync(join(turns.folder(interrupted), 'pid'), '');
    expect(await nextHub().hasBegun(interrupted)).toBe(true);
  });

  test('with a process of it alive that has not taken the folder yet, or whose folder was removed', async () => {
    const turn = turns.turn('true');
    const env = { ...process.env, SQUAD_RUN_ID: turn.runId, SQUAD_TURN: '1' };
    const slow = spawn('/bin/sh', ['-c', 'read -r _', 'slow'], { env, stdio: ['pipe', 'ignore', 'ignore'] });
    await until(async () => (await processesOf(turn.runId)).length > 0, 'the slow wrapper');
    expect(await nextHub().hasBegun(turn)).toBe(true);
    expect(await nextHub().hasBegun({ ...turn, number: 2 })).toBe(false);
    rmSync(turns.folder(turn), { recursive: true });
    expect(await nextHub().hasBegun(turn)).toBe(true);
    slow.kill('SIGKILL');
  });
});

describe('evidence in a folder', () => {
  test('no folder, or none that a wrapper took: it never started', async () => {
    const turn = turns.turn('true');
    expect(await nextHub().find(turn, options)).toEqual({ state: 'never_started' });
    rmSync(turns.folder(turn), { recursive: true });
    expect(await nextHub().find(turn, options)).toEqual({ state: 'never_started' });
  });

  test('a folder that was removed while its agent is running: gone, and the agent is ended', async () => {
    const turn = turns.turn('setsid sleep 61 & echo ready; sleep 60');
    await startedByOneThatDied(turn);
    rmSync(turns.folder(turn), { recursive: true });
    const found = await nextHub().find(turn, options);
    expect(found).toMatchObject({ state: 'gone', end: { exitCode: null } });
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('when it was started, whoever was there to see it', async () => {
    const turn = turns.turn('exit 0');
    const live = await nextHub().start(turn, options);
    await live.ended;
    const hourAgo = Date.now() - 3_600_000;
    utimesSync(join(turns.folder(turn), 'pid'), hourAgo / 1000, hourAgo / 1000);
    expect(await nextHub().find(turn, options)).toMatchObject({ state: 'ended', startedAt: hourAgo });
  });

  test('a wrapper that has not written its pid yet is waited for', async () => {
    const turn = turns.turn('exit 0');
    const env = { ...process.env, SQUAD_RUN_ID: turn.runId, SQUAD_TURN: '1' };
    const folder = turns.folder(turn);
    // Takes the place of a slow wrapper: its mark is there long before its pid.
    const slow = spawn('/bin/sh', ['-c', 'read -r _; echo $$ >"$1/pid"; read -r _', 'slow', folder], {
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await until(async () => (await processesOf(turn.runId)).length > 0, 'the slow wrapper');
    const table = createProcessTable();
    let looks = 0;
    const snapshot = () => {
      if (++looks === 3) slow.stdin.write('\n');
      return table.snapshot();
    };
    const hub = createSupervisor({ runsDir: turns.runsDir, table: { ...table, snapshot } });
    expect(await hub.find(turn, options)).toMatchObject({ state: 'live', turn: { pid: slow.pid } });
    slow.kill('SIGKILL');
  });

  test('taken by a wrapper that died before it wrote its pid: gone, because it must not run twice', async () => {
    const turn = turns.turn('true');
    writeFileSync(join(turns.folder(turn), 'pid'), '');
    expect(await nextHub().find(turn, options)).toMatchObject({ state: 'gone' });
  });

  test('a pid that belongs to a stranger now: gone, and the stranger lives', { tags: ['S11'] }, async () => {
    const stranger = spawn('sleep', ['61'], { detached: true, stdio: 'ignore' });
    const turn = turns.turn('true');
    writeFileSync(join(turns.folder(turn), 'pid'), `${stranger.pid}\n`);
    expect(await nextHub().find(turn, options)).toMatchObject({ state: 'gone' });
    expect(isAlive(stranger.pid!)).toBe(true);

    const ended = turns.turn('true');
    writeFileSync(join(turns.folder(ended), 'pid'), `${stranger.pid}\n`);
    writeFileSync(join(turns.folder(ended), 'exit'), '0\n');
    const hourAgo = Date.now() / 1000 - 3600;
    utimesSync(join(turns.folder(ended), 'exit'), hourAgo, hourAgo);
    expect(await nextHub().find(ended, options)).toMatchObject({ state: 'ended', end: { leftovers: [] } });
    expect(isAlive(stranger.pid!)).toBe(true);
    stranger.kill('SIGKILL');
  });

  test('a folder name cannot lead out of the runs', async () => {
    mkdirSync(turns.path('outside'), { recursive: true });
    await expect(nextHub().find({ runId: '../outside', number: 1 }, options)).rejects.toThrow('Not a run id');
  });
});

const recordTime = (turn: TurnFixture): number =>
  Math.round(statSync(join(turns.folder(turn), 'exit')).mtimeMs);
