import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findTerminal, openWindow, terminalArguments } from './terminal-window.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-terminals-'));
afterAll(() => rmSync(folder, { recursive: true }));
const screen = { DISPLAY: ':0', PATH: folder };

function lay(name: string, mode = 0o755): string {
  const path = join(folder, name);
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, mode);
  return path;
}

test('the system’s own choice comes before what is usually there, and the user’s before both', () => {
  expect(findTerminal(screen, 'linux').why).toMatch(/^no terminal program was found \(x-terminal-emulator, /);
  const xterm = lay('xterm');
  expect(findTerminal(screen, 'linux').program).toBe(xterm);
  const system = lay('x-terminal-emulator');
  expect(findTerminal(screen, 'linux').program).toBe(system);
  const own = lay('my-terminal');
  expect(findTerminal({ ...screen, TERMINAL: 'my-terminal' }, 'linux').program).toBe(own);
  expect(findTerminal({ ...screen, TERMINAL: own, PATH: '' }, 'linux').program).toBe(own);
});

test('a choice that cannot be run is said, and nothing else is taken instead', () => {
  lay('locked', 0o644);
  for (const TERMINAL of ['nothing-like-it', 'locked', 'xterm -fs 14'])
    expect(findTerminal({ ...screen, TERMINAL }, 'linux')).toEqual({
      program: null,
      why: `TERMINAL is ${TERMINAL}, which is not an executable program`,
    });
});

test('without a screen there is no window; either kind of screen will do', () => {
  expect(findTerminal({ PATH: folder }, 'linux').why).toMatch(/no screen/);
  expect(findTerminal({ PATH: folder, WAYLAND_DISPLAY: 'wayland-0' }, 'linux').program).not.toBeNull();
  expect(findTerminal(screen, 'darwin').why).toMatch(/macOS/);
});

test.each([
  ['/usr/bin/xterm', ['-e']],
  ['/usr/bin/konsole', ['-e']],
  ['/usr/bin/gnome-terminal', ['--']],
  ['/usr/bin/wezterm', ['start', '--']],
  ['/usr/bin/kitty', []],
])('%s gets the command as words of its own', (program, before) => {
  expect(terminalArguments(program, ['node', 'a b', '$(x)'])).toEqual([...before, 'node', 'a b', '$(x)']);
});

const cwd = mkdtempSync(join(tmpdir(), 'squad-window-'));
afterAll(() => rmSync(cwd, { recursive: true }));
const sh = (script: string) => ['/bin/sh', '-c', script] as const;
const env = { PATH: '/usr/bin:/bin' };

test('a program that stays is left alone, in a session of its own and without a mark of ours', async () => {
  const marks = { SQUAD_RUN_ID: 'run_1', SQUAD_TURN: '1', SQUAD_UPSTREAM: 's', KEPT: 'yes' };
  const argv = sh('env > env.txt; echo $$ > pid.new; mv pid.new pid; read line < never');
  execFileSync('mkfifo', [join(cwd, 'never')]);
  await openWindow({ argv, cwd, env: { ...env, ...marks }, settleMs: 20 });
  await expect.poll(() => existsSync(join(cwd, 'pid'))).toBe(true);
  const pid = Number(readFileSync(join(cwd, 'pid'), 'utf8'));
  try {
    const [, , , , , session] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
    expect(Number(session)).toBe(pid);
    const seen = readFileSync(join(cwd, 'env.txt'), 'utf8');
    expect(seen).toContain('KEPT=yes');
    expect(seen).not.toContain('SQUAD_');
  } finally {
    process.kill(-pid, 'SIGKILL');
  }
});

test('a terminal program that hands its window over and ends has opened it', async () => {
  await expect(openWindow({ argv: sh('exit 0'), cwd, env, settleMs: 60_000 })).resolves.toBeUndefined();
});

test('a terminal program that fails at once, or cannot be started, is reported', async () => {
  await expect(openWindow({ argv: sh('exit 3'), cwd, env, settleMs: 60_000 })).rejects.toThrow(
    '/bin/sh ended at once (exit 3)',
  );
  const missing = openWindow({ argv: [join(cwd, 'nothing')], cwd, env, settleMs: 60_000 });
  await expect(missing).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
});
