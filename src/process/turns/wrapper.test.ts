import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, lstatSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { processesOf, type TurnFixture, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { bootSeconds, useHubLease, writeHubLease, writeLease } from './turn-record.ts';
import { FED_SCRIPT, NOT_RUN, SCRIPT, wrapperArguments } from './wrapper.ts';

const turns = new TurnsFixture();
afterAll(() => turns.remove());

/** The wrapper alone, with nobody to watch it. */
function wrap(shell: string[], turn: TurnFixture, limitMs = 60_000) {
  const folder = turns.folder(turn);
  const [program = '', ...options] = shell;
  const wrapper = wrapperArguments(turn.runId, folder, limitMs, turn.command.argv, turn.command.isFed);
  return spawn(program, [...options, ...wrapper], {
    detached: true,
    env: { ...turn.command.env, SQUAD_RUN_ID: turn.runId },
    stdio: ['ignore', openSync(join(folder, 'stdout'), 'a'), openSync(join(folder, 'stderr'), 'a')],
  });
}

test('the script is one line, so that a process is one line of `ps`', () => {
  expect(SCRIPT).not.toContain('\n');
  expect(FED_SCRIPT).not.toContain('\n');
});

describe.each([
  ['sh', ['/bin/sh']],
  ['bash', ['/bin/bash', '--posix']],
])('the wrapper in %s', (name, shell) => {
  test('records the status, ends with it, and leaves no watchdog and no sleep', async () => {
    const turn = turns.turn('exit 42');
    const [code] = await once(wrap(shell, turn), 'exit');
    expect(code).toBe(42);
    expect(turns.read(turn, 'exit')).toBe('42\n');
    expect(existsSync(join(turns.folder(turn), 'exit.new'))).toBe(false);
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test.each([
    ['a pipe', 'mkfifo exit'],
    ['a link to a pipe', 'mkfifo pipe; ln -s pipe exit'],
    ['a link that leads nowhere', 'ln -s /nowhere/at/all exit'],
    ['a file', 'echo 0 >exit'],
  ])('replaces %s that the agent left in place of the record', async (_, leave) => {
    const turn = turns.turn(`cd "$(dirname "$(readlink /proc/$$/fd/1)")"; ${leave}; exit 42`);
    await once(wrap(shell, turn), 'exit');
    expect(lstatSync(join(turns.folder(turn), 'exit')).isFile()).toBe(true);
    expect(turns.read(turn, 'exit')).toBe('42\n');
  });

  test('is not misled by shell options that come with the environment', async () => {
    const turn = turns.turn('exit 42', { env: { SHELLOPTS: 'errexit:nounset:noclobber' } });
    await once(wrap(shell, turn), 'exit');
    expect(turns.read(turn, 'exit')).toBe('42\n');
  });

  test('outlives TERM, INT and HUP to its group, and records 128 + 15', async () => {
    const turn = turns.turn('trap : INT HUP; echo ready; while :; do sleep 0.02; done');
    const wrapper = wrap(shell, turn);
    await turns.said(turn, 'ready');
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.kill(-wrapper.pid!, signal);
    await once(wrapper, 'exit');
    expect(turns.read(turn, 'exit')).toBe('143\n');
  });

  test('ends the turn when its lease is over, and says so', { tags: ['H4'] }, async () => {
    const turn = turns.turn('trap "" TERM; echo ready; while :; do sleep 0.02; done');
    writeLease(turns.folder(turn), bootSeconds() + 3600);
    const wrapper = wrap(shell, turn);
    await turns.said(turn, 'ready');
    expect(existsSync(join(turns.folder(turn), 'lapsed'))).toBe(false);
    // An earlier time than the one that is there is a grant that comes late.
    writeLease(turns.folder(turn), bootSeconds() - 1);
    expect(Number(turns.read(turn, 'lease'))).toBeGreaterThan(bootSeconds());
    writeFileSync(join(turns.folder(turn), 'lease'), '1\n');
    await once(wrapper, 'exit');
    expect(turns.read(turn, 'exit')).toBe('137\n');
    expect(existsSync(join(turns.folder(turn), 'lapsed'))).toBe(true);
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('that starts after the lease of its hub does not start the agent', { tags: ['H6'] }, async () => {
    const turn = turns.turn('echo ran');
    useHubLease(turns.folder(turn));
    writeHubLease(turns.runsDir, bootSeconds() - 1);
    const [code] = await once(wrap(shell, turn), 'exit');
    expect(code).toBe(NOT_RUN);
    expect(turns.read(turn, 'stdout')).toBe('');
    expect(turns.read(turn, 'exit')).toBe(`${NOT_RUN}\n`);
    expect(existsSync(join(turns.folder(turn), 'lapsed'))).toBe(true);
  });

  test('runs the agent for as long as the hub renews the lease of all its turns', {
    tags: ['H6'],
  }, async () => {
    const turn = turns.turn('echo ready; while :; do sleep 0.02; done');
    useHubLease(turns.folder(turn));
    writeHubLease(turns.runsDir, bootSeconds() + 3600);
    const wrapper = wrap(shell, turn);
    await turns.said(turn, 'ready');
    writeHubLease(turns.runsDir, bootSeconds());
    await once(wrapper, 'exit');
    expect(turns.read(turn, 'exit')).toBe('143\n');
    expect(existsSync(join(turns.folder(turn), 'lapsed'))).toBe(true);
  });

  test('of a turn without a lease knows nothing of leases', async () => {
    const turn = turns.turn('sleep 2; exit 3');
    await once(wrap(shell, turn), 'exit');
    expect(turns.read(turn, 'exit')).toBe('3\n');
    expect(existsSync(join(turns.folder(turn), 'lapsed'))).toBe(false);
  });

  test.each([
    ['is removed', 'rm lease'],
    ['cannot be read', 'echo nonsense >lease'],
  ])('ends the turn when its lease %s', { tags: ['H4'] }, async (_, spoil) => {
    const turn = turns.turn(
      `cd "$(dirname "$(readlink /proc/$$/fd/1)")"; ${spoil}; while :; do sleep 0.02; done`,
    );
    writeLease(turns.folder(turn), bootSeconds() + 3600);
    await once(wrap(shell, turn), 'exit');
    expect(turns.read(turn, 'exit')).toBe('143\n');
  });

  test('does nothing in a folder that another one has', async () => {
    const turn = turns.turn('echo ran');
    await once(wrap(shell, turn), 'exit');
    const [code] = await once(wrap(shell, turn), 'exit');
    expect(code).toBe(NOT_RUN);
    expect(turns.read(turn, 'stdout')).toBe('ran\n');
  });

  test('feeds what is added to the input, also long after the start, until the agent ends', async () => {
    const turn = turns.turn('while read line; do echo "got $line"; [ "$line" != end ] || exit 9; done', {
      isFed: true,
    });
    turns.write(turn, 'input', 'first\n');
    const wrapper = wrap(shell, turn);
    await turns.said(turn, 'got first');
    expect(existsSync(join(turns.folder(turn), 'input.pipe'))).toBe(false);
    appendFileSync(join(turns.folder(turn), 'input'), 'sec');
    appendFileSync(join(turns.folder(turn), 'input'), 'ond\nend\nnever read\n');
    expect(await once(wrapper, 'exit')).toEqual([9, null]);
    expect(turns.read(turn, 'stdout')).toBe('got first\ngot second\ngot end\n');
    expect(turns.read(turn, 'exit')).toBe('9\n');
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test.each([
    ['never reads its input', 'echo ready; exec sleep 62'],
    ['closes its input', 'exec <&-; echo ready; exec sleep 62'],
  ])('ends the feed of an agent that %s when its time is up', async (_, script) => {
    const turn = turns.turn(script, { isFed: true });
    turns.write(turn, 'input', `${'x'.repeat(300_000)}\n`);
    await once(wrap(shell, turn, 1000), 'exit');
    expect(turns.read(turn, 'exit')).toBe('143\n');
    await until(async () => (await processesOf(turn.runId)).length === 0, `an empty tree in ${name}`);
  });

  test('ends a turn whose time is up, though nobody watches it', async () => {
    const turn = turns.turn('setsid sleep 61 & exec sleep 62');
    await once(wrap(shell, turn, 1000), 'exit');
    expect(turns.read(turn, 'exit')).toBe('143\n');
    await until(async () => (await processesOf(turn.runId)).length === 0, `an empty tree in ${name}`);
  });

  test('kills what ignores TERM when the time is up, and still writes the record', async () => {
    const stubborn = `trap "" TERM; while :; do sleep 0.1; done`;
    const turn = turns.turn(`setsid sh -c '${stubborn}' & ${stubborn}`);
    await once(wrap(shell, turn, 1000), 'exit');
    expect(turns.read(turn, 'exit')).toBe('137\n');
    await until(async () => (await processesOf(turn.runId)).length === 0, `an empty tree in ${name}`);
  });
});
