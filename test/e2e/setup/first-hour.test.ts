import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Screen } from '../../support/screen.ts';
import { BIN, TestSquad } from '../../support/squad.ts';

const MCP_BIN = join(BIN, '..', 'squad-mcp.cjs');

/** A machine where `squad` is another program, and this one is installed beside it. */
function withOtherSquad(squad: TestSquad): string {
  for (const folder of ['other', 'ours']) mkdirSync(join(squad.root, folder));
  const other = join(squad.root, 'other', 'squad');
  writeFileSync(other, '#!/bin/sh\necho another program\n');
  chmodSync(other, 0o755);
  symlinkSync(BIN, join(squad.root, 'ours', 'squad'));
  symlinkSync(MCP_BIN, join(squad.root, 'ours', 'squad-mcp'));
  squad.env.PATH = [join(squad.root, 'other'), join(squad.root, 'ours'), squad.env.PATH].join(':');
  return other;
}

describe('beside another program with the name squad', () => {
  test('help, errors and next steps name the command that works', async () => {
    await using squad = new TestSquad();
    const other = withOtherSquad(squad);
    const help = await squad.run(['help']);
    expect(help.stdout).toMatch(/^Usage: squad-mcp /);
    expect(help.stdout).toContain('`squad-mcp wait` timed out');
    expect((await squad.run(['run', '--help'])).stdout).toContain('  squad-mcp run "Fix the failing test"');
    expect(await squad.run(['ls', '--nosuch'])).toMatchObject({
      stderr: "squad: unknown option '--nosuch' (INVALID_INPUT)\n  `squad-mcp help ls` shows the usage.\n",
    });
    const { error } = await squad.json<{ error: { suggestions: string[] } }>(['cancel']);
    expect(error.suggestions[0]).toBe('`squad-mcp cancel RUN…` stops the runs you name.');
    expect((await squad.run(['ls'])).stdout).toContain('Start one: squad-mcp run ROLE "TASK"');
    expect((await squad.run(['init'])).stdout).toContain('  squad-mcp doctor ');
    expect(readFileSync(join(squad.workspace, '.squad/team.md'), 'utf8')).toContain('`squad-mcp team`');
    expect((await squad.run(['completion', 'bash'])).stdout).toMatch(/-F _squad_complete squad-mcp\n$/);
    const doctor = await squad.run(['doctor']);
    expect(doctor.stdout).toContain(
      `warning  squad      \`squad\` on your PATH is another program: ${other}.`,
    );
    expect(doctor.stdout).toContain('This Squad is `squad-mcp`.');
  });

  test('a person hears of it once', async () => {
    await using squad = new TestSquad();
    withOtherSquad(squad);
    squad.write('.squad/routing.md', '# Routing\n');
    await squad.hubPid();
    const seen = async () => {
      const screen = Screen.open(squad, ['ls'], { columns: 200 });
      const { code, bytes } = await screen.ended();
      screen.close();
      expect(code).toBe(0);
      return bytes;
    };
    const first = await seen();
    expect(first).toContain('is another program');
    expect(first).toContain('also has files of another Squad');
    const second = await seen();
    expect(second).toContain('No runs in this workspace yet.');
    expect(second).not.toMatch(/another/);
  });
});

describe('squad-mcp', () => {
  test('on a terminal is squad', async () => {
    await using squad = new TestSquad();
    const screen = Screen.open(squad, [], { program: [process.execPath, MCP_BIN] });
    const { code, bytes } = await screen.ended();
    screen.close();
    expect(code).toBe(0);
    expect(bytes).toContain('Nothing has run yet.');
  });

  test('with arguments is squad, also without a terminal', async () => {
    await using squad = new TestSquad();
    expect(await squad.run(['roles', '--json'], { bin: MCP_BIN })).toMatchObject({ code: 0 });
  });
});

test('a home on a read-only disk is named, and nothing else is tried', async () => {
  await using squad = new TestSquad();
  const user = join(squad.root, 'user');
  const { SQUAD_HOME: _, ...env } = squad.env;
  const readOnly = ['--dev-bind', '/', '/', '--ro-bind', user, user, '--'];
  for (const command of ['ls', 'init', 'demo']) {
    const { status, stdout, stderr } = spawnSync('bwrap', [...readOnly, process.execPath, BIN, command], {
      cwd: squad.workspace,
      env,
      encoding: 'utf8',
    });
    expect([command, status, stdout]).toEqual([command, 1, '']);
    expect(stderr).toBe(
      `squad: ${user}/.local/state/squad cannot be created: ${user} is not writable (HOME_UNUSABLE)\n  Set SQUAD_HOME to a folder that you own, or fix the permissions of this one.\n`,
    );
  }
  expect(existsSync(join(squad.workspace, '.squad'))).toBe(false);
});

test('the doctor is content in the home folder, where nothing can run, unless it is named', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const cwd = join(squad.root, 'user');
  const here = await squad.run(['doctor'], { cwd });
  expect(here).toMatchObject({ code: 0 });
  expect(here.stdout).toMatch(/^warning {2}workspace .* is your home folder/m);
  expect(here.stdout).not.toMatch(/^warning {2}engine/m);
  const bare = await squad.run(['doctor'], { cwd, env: { ENGINE_COMMAND: '' } });
  expect(bare).toMatchObject({ code: 0, stdout: expect.stringMatching(/^warning {2}engine +no agent CLI/m) });
  const named = await squad.run(['doctor', '--workspace', cwd]);
  expect(named).toMatchObject({ code: 1, stdout: expect.stringMatching(/^failed {3}workspace/m) });
});

test('the doctor finds Squad twice in Claude Code: as a plugin and as an entry', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const settings = (plugins: Record<string, boolean>) =>
    squad.write('../user/.claude/settings.json', JSON.stringify({ enabledPlugins: plugins }));
  settings({ 'squad@squad-mcp': true, 'other@market': true });
  expect((await squad.run(['doctor'])).stdout).not.toContain('more than once');
  await squad.run(['install', 'claude-code', '--yes']);
  const twice = await squad.run(['doctor']);
  expect(twice).toMatchObject({ code: 0 });
  expect(twice.stdout).toMatch(/^warning {2}claude {5}Claude Code has Squad more than once: the plugin/m);
  expect(twice.stdout).toContain('squad install claude-code --undo');
  settings({ 'squad@squad-mcp': false });
  expect((await squad.run(['doctor'])).stdout).not.toContain('more than once');
  await squad.run(['install', 'claude-code', '--undo']);
  settings({ 'squad@squad-mcp': true, 'squad@my-fork': true });
  expect((await squad.run(['doctor'])).stdout).toMatch(
    /the plugin squad@squad-mcp, the plugin squad@my-fork/,
  );
});

test('the doctor names another version on the PATH, and what to do; the same version twice is no problem', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const { version } = JSON.parse(readFileSync(join(BIN, '..', '..', 'package.json'), 'utf8'));
  const install = (folder: string, installed: string) => {
    const own = join(squad.root, folder, 'lib', 'node_modules', 'squad-mcp');
    mkdirSync(join(own, 'bin'), { recursive: true });
    mkdirSync(join(squad.root, folder, 'bin'));
    writeFileSync(join(own, 'package.json'), JSON.stringify({ name: 'squad-mcp', version: installed }));
    for (const name of ['squad', 'squad-mcp']) {
      const file = join(own, 'bin', `${name}.cjs`);
      writeFileSync(file, '#!/usr/bin/env node\n');
      chmodSync(file, 0o755);
      symlinkSync(file, join(squad.root, folder, 'bin', name));
    }
    return join(squad.root, folder, 'bin');
  };
  const [same, older] = [install('same', version), install('older', '0.0.9')];
  squad.env.PATH = [same, squad.env.PATH].join(':');
  expect((await squad.run(['doctor'])).stdout).not.toContain('PATH also has');
  squad.env.PATH = [older, squad.env.PATH].join(':');
  const { code, stdout } = await squad.run(['doctor']);
  const flat = stdout.replaceAll(/\s+/g, ' ');
  expect(code).toBe(0);
  expect(flat).toContain(
    `warning versions This is Squad ${version} (${BIN}); PATH also has 0.0.9 (${older}/squad)`,
  );
  expect(flat).toContain('npm uninstall -g squad-mcp');
});

test('a client without a Node of its own gets npx, not a path in the cache of npx', async () => {
  await using squad = new TestSquad();
  const cache = join(squad.root, '.npm', '_npx', '1a2b', 'node_modules');
  const own = join(cache, 'squad-mcp');
  mkdirSync(own, { recursive: true });
  // Node resolves links, so the program must be there itself.
  spawnSync('cp', [
    '-r',
    ...['bin', 'dist', 'roles', 'schemas', 'templates', 'package.json'].map(name =>
      join(BIN, '..', '..', name),
    ),
    own,
  ]);
  symlinkSync(join(BIN, '..', '..', 'node_modules', 'better-sqlite3'), join(cache, 'better-sqlite3'));
  const bin = join(own, 'bin', 'squad.cjs');
  const PATH = `${join(cache, '.bin')}:${squad.env.PATH}`;
  const ran = await squad.run(['install', 'cursor', '--yes'], { bin, env: { PATH } });
  expect(ran).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Undo: npx squad-mcp install cursor --undo'),
  });
  expect(ran.stdout).toContain('npm install -g squad-mcp');
  const config = readFileSync(join(squad.root, 'user', '.cursor', 'mcp.json'), 'utf8');
  expect(JSON.parse(config).mcpServers.squad).toMatchObject({
    command: 'npx',
    args: ['-y', 'squad-mcp', 'mcp'],
  });
  for (const text of [config, readFileSync(join(squad.home, 'env'), 'utf8')])
    expect(text).not.toContain('_npx');
});
