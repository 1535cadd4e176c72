import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { createProcSource } from './proc-source.ts';
import { createPsSource } from './ps-source.ts';
import { createRunOfProcess, createStartedByUser } from './run-of-process.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-run-of-'));
const runsDir = join(root, 'runs');
const started: ChildProcess[] = [];
const strays: number[] = [];
afterAll(() => {
  for (const pid of [...started.map(child => -child.pid!), ...strays])
    try {
      process.kill(pid, 'SIGKILL');
    } catch {} // gone already
  rmSync(root, { recursive: true });
});

/** A process at the place of a run's wrapper: tagged, leader of its session, named in the run's folder. */
function wrapper(runId: string, script: string): number {
  // In a file: `ps` shows words of the command line and of the environment as one.
  const file = join(root, `${runId}.sh`);
  writeFileSync(file, script);
  const child = spawn('/bin/sh', ['-c', '. "$1"', `squad-turn-${runId}`, file], {
    env: { PATH: process.env.PATH, SQUAD_RUN_ID: runId, SQUAD_TURN: '1' },
    detached: true,
    stdio: 'ignore',
  });
  started.push(child);
  mkdirSync(join(runsDir, runId, 'turn-1'), { recursive: true });
  writeFileSync(join(runsDir, runId, 'turn-1', 'pid'), `${child.pid}\n`);
  return child.pid!;
}

/** Waits for the process id that a shell wrote to the file. */
const pidIn = (file: string) =>
  vi.waitUntil(
    () => {
      try {
        return Number(readFileSync(join(root, file), 'utf8').match(/^(\d+)\n$/)?.[1]) || null;
      } catch {
        return null;
      }
    },
    { timeout: 60_000 },
  );

const sources = [
  { name: 'ps', source: createPsSource() },
  ...(process.platform === 'linux' ? [{ name: '/proc', source: createProcSource() }] : []),
];

describe.each(sources)('by $name', ({ name, source }) => {
  const runOf = createRunOfProcess(runsDir, source);
  const key = name === 'ps' ? 'ps' : 'proc';

  test('a process that was started inside a run is in it, also with an empty environment', async () => {
    const own = wrapper(
      `run_${key}_plain`,
      `env -i /bin/sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; sleep 60' "${root}/${key}-plain" & wait`,
    );
    const inner = await pidIn(`${key}-plain`);
    for (const pid of [inner, own])
      expect(await runOf(pid)).toEqual({ runId: `run_${key}_plain`, isProven: true });
  });

  test("another run's mark in the environment does not make it that run", async () => {
    wrapper(`run_${key}_other`, 'sleep 60');
    wrapper(
      `run_${key}_liar`,
      `SQUAD_RUN_ID=run_${key}_other /bin/sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; sleep 60' "${root}/${key}-liar" & wait`,
    );
    expect(await runOf(await pidIn(`${key}-liar`))).toEqual({ runId: `run_${key}_liar`, isProven: true });
  });

  test('an orphan that left the session is known by its mark, which proves nothing', async () => {
    const runId = `run_${key}_orphan`;
    wrapper(
      runId,
      `setsid /bin/sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 60' "${root}/${key}-orphan" </dev/null >/dev/null 2>&1 & exit`,
    );
    const orphan = await pidIn(`${key}-orphan`);
    strays.push(orphan);
    expect(await runOf(orphan)).toEqual({ runId, isProven: false });
  });

  test('a process outside, and a number that is no process, are in no run', async () => {
    const outside = spawn('sleep', ['60'], {
      detached: true,
      stdio: 'ignore',
      env: { PATH: process.env.PATH },
    });
    started.push(outside);
    expect(await runOf(outside.pid!)).toBeNull();
    expect(await runOf(process.pid)).toBeNull();
    expect(await runOf(2 ** 30)).toBeNull();
    expect(await runOf(-1)).toBeNull();
  });
});

// Elsewhere sessions are not shown, and nothing is certain.
test.runIf(process.platform === 'linux')(
  'a process in a session from before the first run is certainly not of a run; an orphan with one of its own may be',
  async () => {
    const byUser = createStartedByUser();
    const later = Date.now() + 60_000;
    wrapper(
      'run_user_daemon',
      `setsid -f env -i /bin/sh -c 'echo $$ >"$0.new"; /bin/mv "$0.new" "$0"; exec /bin/sleep 60' "${root}/user-daemon" </dev/null >/dev/null 2>&1`,
    );
    const orphan = await pidIn('user-daemon');
    strays.push(orphan);
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    started.push(child);
    expect(await createRunOfProcess(runsDir)(orphan)).toBeNull();
    expect(await byUser(child.pid!, Date.now())).toBe(true);
    expect(await byUser(orphan, Date.now())).toBe(false);
    expect(await byUser(orphan, later)).toBe(true);
    expect(await byUser(2 ** 30, later)).toBe(false);
  },
);
