import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { parse } from 'jsonc-parser';
import { describe, expect, onTestFinished, test } from 'vitest';
import { writeEnvironmentFile } from '../../../link/environment-file.ts';
import { CLIENT_NAMES, clientNamed, type InstallContext } from './clients.ts';
import { apply, lostInstalls, plan, undo, undoEnvironment } from './plan.ts';
import { runningClient } from './running-client.ts';

const HOUR = 3_600_000;

function newUser(overrides: Partial<InstallContext> = {}) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'squad-install-')));
  const context: InstallContext = {
    home,
    env: {},
    platform: 'linux',
    program: { command: '/opt/node', args: ['/opt/squad/bin/squad.cjs'] },
    ...overrides,
  };
  const write = (file: string, text: string | Buffer) => {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), text);
    return join(home, file);
  };
  return { home, context, write, backups: join(home, 'state', 'install') };
}

test.each([
  [
    'claude-code',
    '.claude.json',
    'mcpServers',
    { type: 'stdio', timeout: HOUR, env: { MCP_TOOL_TIMEOUT: '3600000' } },
  ],
  ['claude-desktop', '.config/Claude/claude_desktop_config.json', 'mcpServers', {}],
  ['cursor', '.cursor/mcp.json', 'mcpServers', {}],
  ['vscode', '.config/Code/User/mcp.json', 'servers', { type: 'stdio' }],
  ['gemini', '.gemini/settings.json', 'mcpServers', { timeout: HOUR, env: { MCP_TOOL_TIMEOUT: '3600000' } }],
  ['qwen', '.qwen/settings.json', 'mcpServers', { timeout: HOUR, env: { MCP_TOOL_TIMEOUT: '3600000' } }],
  ['copilot', '.copilot/mcp-config.json', 'mcpServers', { type: 'local', tools: ['*'], timeout: HOUR }],
] as const)('%s gets %s with exactly its own fields', (client, file, key, fields) => {
  const { home, context } = newUser();
  const made = plan(client, context);
  expect(made).toMatchObject({ file: join(home, file), before: null, changed: true });
  expect(JSON.parse(made.after)).toEqual({
    [key]: { squad: { command: '/opt/node', args: ['/opt/squad/bin/squad.cjs', 'mcp'], ...fields } },
  });
});

test('opencode gets one command list', () => {
  const { home, context } = newUser();
  const made = plan('opencode', context);
  expect(made.file).toBe(join(home, '.config/opencode/opencode.json'));
  expect(JSON.parse(made.after).mcp.squad).toEqual({
    type: 'local',
    command: ['/opt/node', '/opt/squad/bin/squad.cjs', 'mcp'],
    enabled: true,
    timeout: HOUR,
  });
});

test('codex gets a table with its timeouts in seconds', () => {
  const { home, context } = newUser();
  const made = plan('codex', context);
  expect(made.file).toBe(join(home, '.codex/config.toml'));
  expect(made.after).toBe(`[mcp_servers.squad]
command = "/opt/node"
args = ["/opt/squad/bin/squad.cjs", "mcp"]
startup_timeout_sec = 30
tool_timeout_sec = 3600

[mcp_servers.squad.env]
MCP_TOOL_TIMEOUT = "3600000"
`);
});

describe('editors', () => {
  const agent = { command: '/opt/node', args: ['/opt/squad/bin/squad.cjs', 'acp'] };

  test.each([
    ['zed', '.config/zed/settings.json', { type: 'custom', ...agent }],
    ['jetbrains', '.jetbrains/acp.json', agent],
  ] as const)('%s gets an agent, and keeps its comments', (client, file, entry) => {
    const { home, context, write } = newUser();
    expect(plan(client, context).file).toBe(join(home, file));
    write(file, '{\n  // mine\n  "agent_servers": {\n    "Other": { "command": "x" }, // too\n  },\n}\n');
    const { after } = plan(client, context);
    expect(after).toMatch(/\/\/ mine[\s\S]*\/\/ too/);
    expect(parse(after).agent_servers).toEqual({ Other: { command: 'x' }, Squad: entry });
  });

  test('neovim gets a file of its own, with the escapes of Lua', async () => {
    const env = { SQUAD_HOME: '/a "b"\\c\n' };
    const { home, context, backups } = newUser({ env, program: { command: '/opt/a "b"/node', args: ['s'] } });
    const made = plan('neovim', context);
    expect(made.file).toBe(join(home, '.config/nvim/lua/plugins/squad.lua'));
    expect(made.after).toContain('command = "/opt/a \\"b\\"/node", args = { "s", "acp" }');
    expect(made.after).toContain('["SQUAD_HOME"] = "/a \\"b\\"\\\\c\\010"');
    expect(made.after.match(/[{(]/g)).toHaveLength(made.after.match(/[})]/g)!.length);
    await apply(made, backups);
    const later = plan('neovim', { ...context, env: {} });
    expect(later.after).not.toContain('SQUAD_HOME');
  });

  test('a file of that name that the user wrote is refused', () => {
    const { context, write } = newUser();
    write('.config/nvim/lua/plugins/squad.lua', 'return {}\n');
    expect(() => plan('neovim', context)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

test('the entry names the database of the hub, but no password', () => {
  const entry = (SQUAD_DATABASE_URL: string) =>
    JSON.parse(plan('cursor', newUser({ env: { SQUAD_DATABASE_URL } }).context).after).mcpServers.squad;
  const url = 'postgres://squad@db:5432/squad?sslmode=verify-full';
  expect(entry(url).env).toEqual({ SQUAD_DATABASE_URL: url });
  for (const secret of ['postgres://squad:pw@db/squad', 'postgres:///squad?password=pw', 'pw'])
    expect(entry(secret)).not.toHaveProperty('env');
});

test('moved configuration folders are respected', () => {
  const env = {
    CLAUDE_CONFIG_DIR: '/c',
    CODEX_HOME: '/x',
    GEMINI_CLI_HOME: '/g',
    QWEN_HOME: '/q',
    COPILOT_HOME: '/p',
    XDG_CONFIG_HOME: '/d',
  };
  const { home, context } = newUser({ env });
  const files = CLIENT_NAMES.map(client => plan(client, context).file);
  expect(files).toEqual([
    '/c/.claude.json',
    '/d/Claude/claude_desktop_config.json',
    join(home, '.cursor/mcp.json'),
    '/d/Code/User/mcp.json',
    '/x/config.toml',
    '/g/.gemini/settings.json',
    '/q/settings.json',
    '/p/mcp-config.json',
    '/d/opencode/opencode.json',
    '/d/zed/settings.json',
    join(home, '.jetbrains/acp.json'),
    '/d/nvim/lua/plugins/squad.lua',
  ]);
  expect(plan('vscode', { ...context, platform: 'darwin' }).file).toBe(
    join(home, 'Library/Application Support/Code/User/mcp.json'),
  );
  expect(plan('claude-desktop', { ...context, platform: 'darwin' }).file).toBe(
    join(home, 'Library/Application Support/Claude/claude_desktop_config.json'),
  );
});

test('the entry for claude-desktop names the workspace', () => {
  const { context } = newUser({ workspace: '/my/project' });
  const made = plan('claude-desktop', context);
  expect(JSON.parse(made.after).mcpServers.squad.env).toEqual({ SQUAD_WORKSPACE: '/my/project' });
  expect(made.next).toContain('/my/project');
  expect(plan('claude-desktop', newUser().context).next).toContain('--workspace');
  expect(plan('cursor', context).after).not.toContain('SQUAD_WORKSPACE');
});

test('the entry contains the settings of this shell', () => {
  const env = { RUN_TEMPLATE: "claude -p 'x'", STATE_MODE: 'stateful', ANTHROPIC_API_KEY: 'secret' };
  const { context } = newUser({ env });
  expect(JSON.parse(plan('cursor', context).after).mcpServers.squad.env).toEqual({
    RUN_TEMPLATE: "claude -p 'x'",
    STATE_MODE: 'stateful',
  });
  expect(plan('codex', context).after).toContain(`RUN_TEMPLATE = "claude -p 'x'"`);
});

test('a relative XDG folder is ignored, as the XDG rules say', () => {
  const { home, context } = newUser({ env: { XDG_CONFIG_HOME: 'conf', XDG_STATE_HOME: 'state' } });
  expect(plan('opencode', context).file).toBe(join(home, '.config/opencode/opencode.json'));
  expect(plan('vscode', context).file).toBe(join(home, '.config/Code/User/mcp.json'));
  expect(plan('codex', context).after).not.toContain('SQUAD_HOME');
});

test('the entry names a moved Squad home', () => {
  const { context } = newUser({ env: { SQUAD_HOME: '/my/squad' } });
  expect(JSON.parse(plan('cursor', context).after).mcpServers.squad.env).toEqual({ SQUAD_HOME: '/my/squad' });
  expect(JSON.parse(plan('opencode', context).after).mcp.squad.environment).toEqual({
    SQUAD_HOME: '/my/squad',
  });
  const xdg = newUser({ env: { XDG_STATE_HOME: '/st' } });
  expect(plan('codex', xdg.context).after).toContain('SQUAD_HOME = "/st/squad"');
});

test('--project writes the file of the workspace, where the client has one', () => {
  const { home, context } = newUser();
  const project = join(home, 'work');
  const without = ['copilot', 'claude-desktop', 'zed', 'jetbrains', 'neovim'] as const;
  const inProject = CLIENT_NAMES.filter(client => !without.some(name => name === client)).map(
    client => plan(client, { ...context, project }).file,
  );
  expect(inProject.map(file => file.slice(project.length + 1))).toEqual([
    '.mcp.json',
    '.cursor/mcp.json',
    '.vscode/mcp.json',
    '.codex/config.toml',
    '.gemini/settings.json',
    '.qwen/settings.json',
    'opencode.json',
  ]);
  for (const client of without)
    expect(() => plan(client, { ...context, project })).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
});

test('an existing opencode.jsonc is edited', () => {
  const { context, write } = newUser();
  const file = write('.config/opencode/opencode.jsonc', '{\n  // mine\n  "model": "x"\n}\n');
  expect(plan('opencode', context)).toMatchObject({ file, after: expect.stringContaining('// mine') });
});

test('an entry with a URL becomes a command', () => {
  const { context, write } = newUser();
  write('.cursor/mcp.json', '{ "mcpServers": { "squad": { "url": "http://127.0.0.1:3001/mcp" } } }');
  write('.codex/config.toml', '[mcp_servers.squad]\nurl = "http://127.0.0.1:3001/mcp"\n');
  expect(Object.keys(JSON.parse(plan('cursor', context).after).mcpServers.squad)).toEqual([
    'command',
    'args',
  ]);
  expect(plan('codex', context).after).not.toContain('url');
});

test('the diff is unified, with three lines of context', () => {
  const { context, write } = newUser();
  const lines = Array.from({ length: 9 }, (_, index) => `key${index} = ${index}\n`).join('');
  const file = write('.codex/config.toml', lines);
  const { diff } = plan('codex', context);
  expect(diff).toContain(
    `--- ${file}\n+++ ${file}\n@@ -7,3 +7,12 @@\n key6 = 6\n key7 = 7\n key8 = 8\n+\n+[mcp_servers.squad]\n`,
  );
  expect(diff).not.toContain('key5');
});

test.each(CLIENT_NAMES)('%s: installing twice changes nothing, undoing leaves no trace', async client => {
  const { context, backups } = newUser();
  const first = plan(client, context);
  await apply(first, backups);
  expect(readFileSync(first.file, 'utf8')).toBe(first.after);
  expect(statSync(first.file).mode & 0o777).toBe(0o600);
  const second = plan(client, context);
  expect(second).toMatchObject({ changed: false, diff: '' });
  await apply(second, backups);
  expect(readdirSync(backups)).toHaveLength(1);
  expect(await undo(client, backups)).toMatchObject({ outcome: 'deleted', file: first.file });
  // Neither the file, nor the folders made for it, nor the backup.
  expect(readdirSync(context.home)).toEqual(['state']);
  expect(readdirSync(join(context.home, 'state'))).toEqual([]);
  expect(await undo(client, backups)).toMatchObject({ outcome: 'nothing', file: null });
});

test('the backup is private, and undo restores the exact bytes and mode', async () => {
  const { context, write, backups } = newUser();
  const text = '\uFEFF{\r\n\t"key": "secret", // c\r\n\t"mcpServers": {}\r\n}';
  const file = write('.claude.json', text);
  chmodSync(file, 0o664);
  await apply(plan('claude-code', context), backups, Date.UTC(2026, 0, 2, 3, 4, 5, 6));
  const [name] = readdirSync(backups);
  expect(name).toBe('claude-code-2026-01-02T03-04-05-006Z.json');
  expect(statSync(join(backups, name as string)).mode & 0o777).toBe(0o600);
  expect(statSync(file).mode & 0o777).toBe(0o664);
  expect(readFileSync(file, 'utf8').startsWith('\uFEFF{\r\n')).toBe(true);
  expect((await undo('claude-code', backups)).outcome).toBe('restored');
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(statSync(file).mode & 0o777).toBe(0o664);
});

test('undo removes only our entry from a file that changed since', async () => {
  const { context, write, backups } = newUser();
  const file = write('.claude.json', '{\n  "starts": 1\n}\n');
  await apply(plan('claude-code', context), backups);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"starts": 1', '"starts": 2'));
  const result = await undo('claude-code', backups);
  expect(result).toMatchObject({
    outcome: 'entry_removed',
    message: expect.stringContaining('changed since'),
  });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ starts: 2 });
  expect((await undo('claude-code', backups)).outcome).toBe('nothing');
});

test('undo keeps an earlier table of servers, and folders that are not empty', async () => {
  const { home, context, write, backups } = newUser();
  const file = write('.claude.json', '{\n  "mcpServers": {}\n}\n');
  await apply(plan('claude-code', context), backups);
  writeFileSync(file, readFileSync(file, 'utf8').replace('{\n', '{\n  "starts": 2,\n'));
  expect((await undo('claude-code', backups)).outcome).toBe('entry_removed');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ starts: 2, mcpServers: {} });

  await apply(plan('cursor', context), backups);
  write('.cursor/other.json', '{}');
  expect((await undo('cursor', backups)).message).toContain(
    `Kept the folder ${join(home, '.cursor')}, which is not empty.`,
  );
  expect(readdirSync(join(home, '.cursor'))).toEqual(['other.json']);
});

test('undo removes the environment file with the last install; before, it names the clients that use it', async () => {
  const { home, context, backups } = newUser();
  const squadHome = join(home, 'state');
  for (const client of ['cursor', 'claude-code'] as const) await apply(plan(client, context), backups);
  writeEnvironmentFile(squadHome, { PATH: '/bin' });
  await undo('cursor', backups);
  expect(undoEnvironment(squadHome, backups)).toBe(
    `Kept ${join(squadHome, 'env')}, which claude-code still uses.`,
  );
  await undo('claude-code', backups);
  expect(undoEnvironment(squadHome, backups)).toBe(`Removed ${join(squadHome, 'env')}.`);
  expect(undoEnvironment(squadHome, backups)).toBeNull();
  expect(readdirSync(squadHome)).toEqual([]);
});

test('undo keeps an environment file that the user edited or wrote', () => {
  const { home, backups } = newUser();
  const squadHome = join(home, 'state');
  const file = join(squadHome, 'env');
  const kept = `Kept ${file}: you edited it. Delete it if you do not need it.`;
  writeEnvironmentFile(squadHome, { PATH: '/bin' });
  appendFileSync(file, 'MINE=1\n');
  expect(undoEnvironment(squadHome, backups)).toBe(kept);
  writeFileSync(file, 'MINE=1\n');
  expect(undoEnvironment(squadHome, backups)).toBe(kept);
  expect(readFileSync(file, 'utf8')).toBe('MINE=1\n');
});

test("undo in a project keeps the user's install", async () => {
  const { home, context, backups } = newUser();
  const project = join(home, 'project');
  mkdirSync(project);
  const user = plan('cursor', context);
  await apply(user, backups, Date.UTC(2026, 0, 2));
  expect(await undo('cursor', backups, project)).toMatchObject({ outcome: 'nothing', file: null });
  const own = plan('cursor', { ...context, project });
  await apply(own, backups, Date.UTC(2026, 0, 1));
  expect(await undo('cursor', backups, project)).toMatchObject({ outcome: 'deleted', file: own.file });
  expect(readFileSync(user.file, 'utf8')).toBe(user.after);
});

test('two installs are undone one by one', async () => {
  const { context, write, backups } = newUser();
  const file = write('.cursor/mcp.json', '{}\n');
  await apply(plan('cursor', context), backups, 1e12);
  const afterFirst = readFileSync(file, 'utf8');
  await apply(plan('cursor', { ...context, program: { command: '/new/node', args: ['/s'] } }), backups, 1e12);
  expect(readFileSync(file, 'utf8')).toContain('/new/node');
  expect((await undo('cursor', backups)).outcome).toBe('restored');
  expect(readFileSync(file, 'utf8')).toBe(afterFirst);
  expect((await undo('cursor', backups)).outcome).toBe('restored');
  expect(readFileSync(file, 'utf8')).toBe('{}\n');
});

test('links are followed, also to a missing target', async () => {
  const { home, context, write, backups } = newUser();
  const real = write('dotfiles/mcp.json', '{}\n');
  mkdirSync(join(home, '.cursor'));
  symlinkSync('../dotfiles/mcp.json', join(home, '.cursor/mcp.json'));
  await apply(plan('cursor', context), backups);
  expect(lstatSync(join(home, '.cursor/mcp.json')).isSymbolicLink()).toBe(true);
  expect(parse(readFileSync(real, 'utf8')).mcpServers.squad.command).toBe('/opt/node');

  mkdirSync(join(home, '.codex'));
  symlinkSync(join(home, 'dotfiles/codex.toml'), join(home, '.codex/config.toml'));
  await apply(plan('codex', context), backups);
  expect(readFileSync(join(home, 'dotfiles/codex.toml'), 'utf8')).toContain('[mcp_servers.squad]');
  expect(readdirSync(join(home, 'dotfiles')).sort()).toEqual(['codex.toml', 'mcp.json']);

  expect((await undo('codex', backups)).outcome).toBe('deleted');
  expect(lstatSync(join(home, '.codex/config.toml')).isSymbolicLink()).toBe(true);
  expect(readdirSync(join(home, 'dotfiles'))).toEqual(['mcp.json']);
});

test('a broken file is named with line and column, and nothing is written', () => {
  const { home, context, write, backups } = newUser();
  const file = write('.gemini/settings.json', '{\n  "a": 1,\n  oops\n}\n');
  expect(() => plan('gemini', context)).toThrow(`${file}, line 3, column 3: not valid JSON`);
  write('.cursor/mcp.json', Buffer.from([0x7b, 0xff, 0x7d]));
  expect(() => plan('cursor', context)).toThrow('is not UTF-8');
  mkdirSync(join(home, '.claude.json'));
  expect(() => plan('claude-code', context)).toThrow('is a folder');
  mkdirSync(join(home, '.qwen'));
  execFileSync('mkfifo', [join(home, '.qwen/settings.json')]);
  expect(() => plan('qwen', context)).toThrow('is not a file');
  mkdirSync(join(home, '.codex'));
  symlinkSync('config.toml', join(home, '.codex/config.toml'));
  expect(() => plan('codex', context)).toThrow('is a circular link');
  expect(existsSync(backups)).toBe(false);
  expect(readFileSync(file, 'utf8')).toBe('{\n  "a": 1,\n  oops\n}\n');
});

test('an entry that an open client has overwritten with its own copy is noticed', async () => {
  const { context, write, backups } = newUser();
  const file = write('.claude.json', '{"numStartups":1}\n');
  await apply(plan('claude-code', context), backups);
  await apply(plan('codex', context), backups);
  expect(lostInstalls(backups)).toEqual([]);
  writeFileSync(file, '{"numStartups":2}\n');
  expect(lostInstalls(backups)).toEqual([{ client: 'claude-code', file }]);
  writeFileSync(file, '{');
  expect(lostInstalls(backups)).toEqual([]);
  writeFileSync(file, '{}');
  await apply(plan('claude-code', context), backups);
  expect(lostInstalls(backups)).toEqual([]);
});

test('changes of an open client after the diff was shown are kept', async () => {
  const { context, write, backups } = newUser();
  const file = write('.claude.json', '{}\n');
  const planned = plan('claude-code', context);
  writeFileSync(file, '{"numStartups":1}\n');
  await apply(planned, backups);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    numStartups: 1,
    mcpServers: { squad: { command: '/opt/node' } },
  });
  await undo('claude-code', backups);
  expect(readFileSync(file, 'utf8')).toBe('{"numStartups":1}\n');
});

test('an entry that changed after the diff was shown is not overwritten', async () => {
  const { context, write, backups } = newUser();
  const file = write('.claude.json', '{\n  "mcpServers": { "squad": { "command": "old" } }\n}\n');
  const planned = plan('claude-code', context);
  const changed = '{\n  "mcpServers": { "squad": { "command": "mine" } }\n}\n';
  writeFileSync(file, changed);
  await expect(apply(planned, backups)).rejects.toThrow('changed after the diff');
  expect(readFileSync(file, 'utf8')).toBe(changed);
  expect(existsSync(backups)).toBe(false);
});

test('Claude Code has written its own change before the entry is added', async () => {
  const { context, write, backups } = newUser();
  const file = write('.claude.json', '{}\n');
  mkdirSync(`${file}.lock`);
  const applied = apply(plan('claude-code', context), backups);
  // Claude Code reads, then replaces the file with what it read and its change.
  await setImmediate();
  writeFileSync(file, '{"numStartups":1}\n');
  rmdirSync(`${file}.lock`);
  await applied;
  expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')))).toEqual(['numStartups', 'mcpServers']);
  expect(existsSync(`${file}.lock`)).toBe(false);
});

test('the lock of a Claude Code that has crashed is taken over', async () => {
  const { context, write, backups } = newUser();
  const file = write('.claude.json', '{}\n');
  mkdirSync(`${file}.lock`);
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(`${file}.lock`, longAgo, longAgo);
  await apply(plan('claude-code', context), backups);
  expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers.squad).toBeDefined();
  expect(existsSync(`${file}.lock`)).toBe(false);
});

describe('a client that writes its old copy of the file over the entry', () => {
  /** A process that does so `times` times. */
  const openClient = async (file: string, times: number) => {
    const code = `const fs = require('node:fs'); const [file, times] = process.argv.slice(1);
      const old = fs.readFileSync(file, 'utf8'); let left = Number(times); console.log('open');
      setInterval(() => { if (left > 0 && fs.readFileSync(file, 'utf8') !== old) { left--; fs.writeFileSync(file, old); } }, 5);`;
    const client = spawn(process.execPath, ['-e', code, file, String(times)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void client.kill('SIGKILL'));
    await once(client.stdout, 'data');
  };

  test('gets the entry again', async () => {
    const { context, write, backups } = newUser();
    const file = write('.gemini/settings.json', '{"ui":{}}\n');
    await openClient(file, 2);
    expect(await apply(plan('gemini', context), backups, Date.now(), 3000)).toBe(2);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ ui: {}, mcpServers: { squad: {} } });
    expect((await undo('gemini', backups)).outcome).toBe('restored');
    expect(readFileSync(file, 'utf8')).toBe('{"ui":{}}\n');
  });

  test('does not get the entry back after an undo', async () => {
    const { context, write, backups } = newUser();
    const file = write('.gemini/settings.json', '{"ui":{}}\n');
    await apply(plan('gemini', context), backups);
    await openClient(file, 2);
    await undo('gemini', backups, undefined, 3000);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ui: {} });
    expect(existsSync(backups)).toBe(false);
  });

  test('is an error of the undo if it never stops, and the undo can be repeated', async () => {
    const { context, write, backups } = newUser();
    const file = write('.gemini/settings.json', '{"ui":{}}\n');
    await apply(plan('gemini', context), backups);
    await openClient(file, 1000);
    await expect(undo('gemini', backups, undefined, 3000)).rejects.toMatchObject({
      message: `Gemini CLI is open and keeps writing the entry to ${file}.`,
      suggestions: ['Close the client, then run `squad install gemini --undo` again.'],
    });
    expect(readdirSync(backups)).toHaveLength(1);
  });

  test('is an error if it never stops', async () => {
    const { context, write, backups } = newUser();
    const file = write('.gemini/settings.json', '{"ui":{}}\n');
    await openClient(file, 1000);
    await expect(apply(plan('gemini', context), backups, Date.now(), 3000)).rejects.toMatchObject({
      message: `Gemini CLI is open and keeps removing the entry from ${file}.`,
      suggestions: ['Close the client, then run `squad install gemini` again.'],
    });
    expect(readdirSync(backups)).toEqual([]);
  });
});

test('a client that runs in this home is found by its program or its script', async () => {
  const { home, write } = newUser();
  const script = write('bin/gemini', "console.log('open'); setInterval(() => {}, 1000);");
  const client = spawn(process.execPath, ['--no-warnings', script], {
    env: { ...process.env, HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void client.kill('SIGKILL'));
  await once(client.stdout, 'data');
  const { platform } = process;
  expect(runningClient(clientNamed('gemini'), { home, platform })).toEqual([client.pid]);
  expect(runningClient(clientNamed('qwen'), { home, platform })).toEqual([]);
  expect(runningClient(clientNamed('gemini'), { home: `${home}/other`, platform })).toEqual([]);
  expect(runningClient(clientNamed('gemini'), { home, platform: 'darwin' })).toContain(client.pid);
});
