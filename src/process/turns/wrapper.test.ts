import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { processesOf, type TurnFixture, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { NOT_RUN, SCRIPT, wrapperArguments } from './wrapper.ts';

const turns = new TurnsFixture();
afterAll(() => turns.remove());

/** The wrapper alone, with nobody to watch it. */
function wrap(shell: string[], turn: TurnFixture, limitMs = 60_000) {
  const folder = turns.folder(turn);
  const [program = '', ...options] = shell;
  return spawn(program, [...options, ...wrapperArguments(turn.runId, folder, limitMs, turn.command.argv)], {
    detached: true,
    env: { ...turn.command.env, SQUAD_RUN_ID: turn.runId },
    stdio: ['ignore', openSync(join(folder, 'stdout'), 'a'), openSync(join(folder, 'stderr'), 'a')],
  });
}

test('the script is one line, so that a process is one line of `ps`', () => {
  expect(SCRIPT).not.toContain('\n');
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

  test('does nothing in a folder that another one has', async () => {
    const turn = turns.turn('echo ran');
    await once(wrap(shell, turn), 'exit');
    const [code] = await once(wrap(shell, turn), 'exit');
    expect(code).toBe(NOT_RUN);
    expect(turns.read(turn, 'stdout')).toBe('ran\n');
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
