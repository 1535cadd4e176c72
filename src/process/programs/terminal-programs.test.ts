import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findTerminal, terminalArguments } from './terminal-window.ts';

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
