import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withOwnCommand } from '../../../src/cli/own-command.ts';
import { BIN, callTool, TestSquad } from '../../support/squad.ts';

const SHIPPED = [
  'architect',
  'backend-developer',
  'coder',
  'frontend-developer',
  'planner',
  'qa-engineer',
  'reviewer',
];

describe('squad init', () => {
  test('creates the roles and a config, which take effect, and never overwrites', {
    tags: ['A11'],
  }, async () => {
    await using squad = new TestSquad();
    const first = await squad.json<{ root: string; written: string[]; kept: string[] }>(['init']);
    expect(first).toEqual({
      root: squad.workspace,
      written: [
        '.squad/squad.json',
        '.squad/mcp-config.json',
        '.squad/.gitignore',
        ...SHIPPED.map(role => `.squad/agents/${role}.md`),
        '.squad/mcp-config.schema.json',
        ...['team', 'decisions', 'backlog'].map(name => `.squad/${name}.md`),
      ],
      kept: [],
    });
    const role = join(squad.workspace, '.squad/agents/coder.md');
    squad.write('.squad/agents/coder.md', '---\nname: My coder\n---\nMine.');
    squad.write('.squad/squad.json', '{"stateMode":"stateful"}\n');
    squad.write('.squad/decisions.md', '### Mine\n');
    const again = await squad.run(['init']);
    expect(again.code).toBe(0);
    expect(again.stdout).toContain('kept  .squad/agents/coder.md');
    expect(again.stdout).not.toContain('wrote');
    expect(readFileSync(role, 'utf8')).toContain('Mine.');
    expect(readFileSync(join(squad.workspace, '.squad/decisions.md'), 'utf8')).toBe('### Mine\n');
    // Squad can parse the files that `squad init` wrote, and ignores the examples in them.
    const { members } = await squad.json<{ members: { name: string; onRoster: boolean }[] }>(['team']);
    expect(members.filter(member => member.onRoster).map(member => member.name)).toEqual(SHIPPED);
    expect(await squad.json(['backlog'])).toMatchObject({
      groups: [{ items: [] }, { items: [] }, { items: [] }],
    });
    const roles = await squad.json<{ folder: string; roles: { id: string; name: string }[] }>(['roles']);
    expect(roles.folder).toBe(join(squad.workspace, '.squad/agents'));
    expect(roles.roles.find(each => each.id === 'coder')!.name).toBe('My coder');
  });

  test('adds to an agents folder that is there, because that one is looked at first', async () => {
    await using squad = new TestSquad();
    squad.write('agents/mine.md', 'My own role.');
    await squad.run(['init']);
    const { roles } = await squad.json<{ roles: { id: string }[] }>(['roles']);
    expect(roles.map(role => role.id)).toEqual([...SHIPPED, 'mine'].sort());
    expect(existsSync(join(squad.workspace, '.squad/agents'))).toBe(false);
  });

  test('keeps what Squad writes out of the repository, also beside an ignore file that is there', async () => {
    await using squad = new TestSquad();
    squad.write('.squad/.gitignore', '/IAC.md\nmine');
    const { written } = await squad.json<{ written: string[] }>(['init']);
    expect(written).toContain('.squad/.gitignore');
    expect(readFileSync(join(squad.workspace, '.squad/.gitignore'), 'utf8')).toBe(
      '/IAC.md\nmine\nCONTEXT.md\n*.tmp\n',
    );
    execFileSync('git', ['init', '-q'], { cwd: squad.workspace });
    for (const name of ['IAC.md', 'CONTEXT.md', '.CONTEXT.md.0a1b.tmp']) squad.write(`.squad/${name}`, 'x');
    const status = ['status', '--porcelain', '--untracked-files=all'];
    const seen = execFileSync('git', status, { cwd: squad.workspace, encoding: 'utf8' });
    expect(seen).toContain('.squad/squad.json');
    expect(seen).not.toMatch(/IAC|CONTEXT/);
    const again = await squad.json<{ kept: string[] }>(['init']);
    expect(again.kept).toContain('.squad/.gitignore');
  });

  test('adds to no ignore file that a link leads to', async () => {
    await using squad = new TestSquad();
    squad.write('.squad/squad.json', '{}');
    const elsewhere = join(squad.root, 'elsewhere');
    writeFileSync(elsewhere, 'mine');
    symlinkSync(elsewhere, join(squad.workspace, '.squad/.gitignore'));
    const { kept } = await squad.json<{ kept: string[] }>(['init']);
    expect(kept).toContain('.squad/.gitignore');
    expect(readFileSync(elsewhere, 'utf8')).toBe('mine');
  });

  test('is refused in the home folder', async () => {
    await using squad = new TestSquad();
    const home = join(squad.root, 'user');
    expect(await squad.run(['init'], { cwd: home })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is your home folder'),
    });
    expect(readdirSync(home)).toEqual([]);
  });
});

describe('squad roles and squad doctor', () => {
  test('are content with a sound workspace', async () => {
    await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    const roles = await squad.run(['roles']);
    expect(roles.code).toBe(0);
    for (const role of SHIPPED) expect(roles.stdout).toMatch(new RegExp(`^${role} `, 'm'));
    const doctor = await squad.run(['doctor']);
    expect(doctor.stderr).toBe('');
    expect(doctor.stdout).not.toMatch(/^failed/m);
    expect(doctor.code).toBe(0);
    const { ok, checks } = await squad.json<{ ok: boolean; checks: { name: string }[] }>(['doctor']);
    expect(ok).toBe(true);
    expect(checks.map(check => check.name)).toEqual([
      'node',
      'home',
      'env',
      'hub',
      'database',
      'workspace',
      'roles',
      'engine',
      'git',
      'tmux',
      'sandbox',
      'processes',
    ]);
  });

  test('name a broken role with its file, its line and what to do, and end with 1', {
    tags: ['A1'],
  }, async () => {
    await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    const file = squad.write('agents/broken.md', '---\nname: x\ntype: boss\n---\nBody');
    squad.write('agents/odd.md', '---\ncolour: red\n---\nBody');
    const words = 'line 3: "type" must be planning, coding or review';
    const roles = await squad.run(['roles']);
    expect(roles).toMatchObject({ code: 1, stdout: expect.stringContaining(words) });
    expect(roles.stdout).toContain('odd: line 2: the key "colour" is not known to Squad and has no effect');
    expect((await squad.run(['roles', '--json'])).code).toBe(1);
    const doctor = await squad.run(['doctor']);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^failed {3}roles {6}2 in /m);
    expect(doctor.stdout).toContain(`${file}: ${words}`);
  });

  test('say what is missing on a fresh machine and what came untrusted', async () => {
    await using squad = new TestSquad();
    const fresh = await squad.run(['doctor']);
    expect(fresh.code).toBe(1);
    expect(fresh.stdout).toMatch(/^failed {3}engine {5}No engine is set/m);
    expect(fresh.stdout).toContain('RUN_TEMPLATE');
    squad.write('templates/run-agent.template', 'cat');
    const doctor = await squad.run(['doctor']);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^failed {3}engine {5}The engine is set in .* not trusted yet/m);
    expect(doctor.stdout).toMatch(/^warning {2}trust {6}runTemplate in .*run-agent\.template is ignored/m);
  });
});

describe('squad install', () => {
  test('shows the change, makes it only with a yes, and takes it back', async () => {
    await using squad = new TestSquad({ MY_API_KEY: 'secret' });
    const file = join(squad.root, 'user', '.cursor', 'mcp.json');
    mkdirSync(join(squad.root, 'user', '.cursor'));
    const mine = '{\n  // my servers\n  "mcpServers": { "other": { "command": "x" } }\n}\n';
    squad.write('../user/.cursor/mcp.json', mine);

    const dry = await squad.run(['install', 'cursor', '--dry-run']);
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\+.*"squad": \{/m) });
    expect(dry.stdout).toContain('Nothing was written.');
    for (const args of [
      ['install', 'cursor'],
      ['install', 'cursor', '--json'],
    ])
      expect((await squad.run(args)).code).toBe(3);
    expect(readFileSync(file, 'utf8')).toBe(mine);

    const written = await squad.json<{ applied: boolean; environment: string[] }>([
      'install',
      'cursor',
      '--yes',
    ]);
    expect(written.applied).toBe(true);
    expect(written.environment).toContain('PATH');
    const after = readFileSync(file, 'utf8');
    expect(after).toContain('// my servers');
    expect(after).toContain(join(import.meta.dirname, '..', '..', '..', 'bin', 'squad.cjs'));
    expect(statSync(join(squad.home, 'env')).mode & 0o777).toBe(0o600);
    expect((await squad.run(['install', 'cursor', '--yes'])).stdout).toContain('already has Squad');

    const both = await squad.run(['install', 'cursor', '--undo', '--dry-run']);
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--undo and --dry-run cannot be combined'),
    });
    expect(readFileSync(file, 'utf8')).toBe(after);

    const undone = await squad.run(['install', 'cursor', '--undo']);
    expect(undone).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Removed ${squad.home}/env.`),
    });
    expect(readFileSync(file, 'utf8')).toBe(mine);
    expect(existsSync(join(squad.home, 'env'))).toBe(false);
  });

  test('gives a client a server that really starts', async () => {
    await using squad = new TestSquad();
    await squad.run(['install', 'cursor', '--yes']);
    const config = JSON.parse(readFileSync(join(squad.root, 'user', '.cursor', 'mcp.json'), 'utf8'));
    const { command, args, env } = config.mcpServers.squad;
    expect(command).toMatch(/^\//);
    const client = new Client({ name: 'cursor', version: '1' });
    // A desktop starts programs with a nearly empty environment.
    const home = join(squad.root, 'user');
    await client.connect(
      new StdioClientTransport({ command, args, cwd: squad.workspace, env: { HOME: home, ...env } }),
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('spawn_agent');
    await client.close();
  });

  test('keeps its entry when a client that is open writes an old copy of the file over it', async () => {
    await using squad = new TestSquad();
    const file = squad.write('../user/.gemini/settings.json', '{"ui":{}}');
    const gemini = squad.write(
      '../user/bin/gemini',
      `const fs = require('node:fs'); console.log('open'); let left = 1;
      setInterval(() => { if (left > 0 && fs.readFileSync(${JSON.stringify(file)}, 'utf8').includes('squad')) { left--; fs.writeFileSync(${JSON.stringify(file)}, '{"ui":{}}'); } }, 5);`,
    );
    const client = spawn(process.execPath, [gemini], {
      env: squad.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void client.kill('SIGKILL'));
    await once(client.stdout, 'data');
    const ran = await squad.run(['install', 'gemini', '--yes']);
    expect(ran).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`Gemini CLI is running (process ${client.pid}).`),
      stdout: expect.stringContaining('The client overwrote the entry, so it was written 2 times.'),
    });
    expect(ran.stdout).toContain('Close Gemini CLI before you change a setting in it');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ ui: {}, mcpServers: { squad: {} } });
  });

  test('gives Claude Desktop, which starts servers in /, the workspace it was installed from', async () => {
    await using squad = new TestSquad();
    await squad.run(['install', 'claude-desktop', '--yes']);
    const file = join(squad.root, 'user', '.config', 'Claude', 'claude_desktop_config.json');
    const { command, args, env } = JSON.parse(readFileSync(file, 'utf8')).mcpServers.squad;
    const client = new Client({ name: 'claude-ai', version: '1' });
    const home = join(squad.root, 'user');
    await client.connect(new StdioClientTransport({ command, args, cwd: '/', env: { HOME: home, ...env } }));
    const { roles } = await callTool<{ roles: object[] }>(client, 'list_roles');
    expect(roles.length).toBeGreaterThan(0);
    await client.close();
  });

  test('knows its clients', async () => {
    await using squad = new TestSquad();
    expect(await squad.run(['install', 'emacs'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'claude-code, claude-desktop, cursor, vscode, codex, gemini, qwen, copilot, opencode',
      ),
    });
    expect((await squad.run(['install', 'claude'])).stderr).toContain(
      '\n  Did you mean claude-code or claude-desktop?\n',
    );
    expect(await squad.run(['install'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('\n  squad install <client>\n  Clients: claude-code, '),
    });
  });
});

describe('squad demo', () => {
  test('does the main job on a throw-away repository and says that it is scripted', {
    tags: ['F7'],
  }, async () => {
    // Whatever the user has set must not get in its way.
    await using squad = new TestSquad({
      RUN_TEMPLATE: 'no-such-program',
      STATE_MODE: 'stateful',
      SQUAD_AGENTS_DIR: 'nowhere',
      GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
    });
    squad.write('../user/.gitconfig', '[commit]\n\tgpgsign = true\n[user]\n\tsigningkey = none\n');
    const { code, stdout, stderr } = await squad.run(['demo'], { env: { TMPDIR: squad.root } });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain('the agents follow a script, without a model');
    expect(stdout).toMatch(/qa-engineer\n {4}One of two tests fails/);
    expect(stdout).toContain('  src/slug.js\n  test/slug.test.js\n');
    expect(stdout).toMatch(
      /Now with your own agents\n {2}squad doctor .*\n {2}squad run coder "Fix the test" /,
    );
    const folder = /^(\S*squad-demo-\w+)$/m.exec(stdout)![1]!;
    expect(readFileSync(join(folder, 'src/slug.js'), 'utf8')).toContain('export function slug');
  });

  test('--json is its events and nothing else', async () => {
    await using squad = new TestSquad();
    const { code, stdout } = await squad.run(['demo', '--json'], { env: { TMPDIR: squad.root } });
    expect(code).toBe(0);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>);
    expect(events.filter(event => event.type === 'run.queued').map(event => event.engine)).toEqual(
      Array(4).fill('scripted'),
    );
    expect(events.filter(event => event.type === 'run.ended')).toHaveLength(4);
  });
});

describe('help', () => {
  test('names every command and every exit code', async () => {
    await using squad = new TestSquad();
    squad.sharesCompiled = false;
    const { code, stdout, stderr } = await squad.run(['help']);
    expect([code, stderr]).toEqual([0, '']);
    // Examples begin with `squad`.
    const commands = [...stdout.matchAll(/^ {2}(?!squad )([a-z]+)/gm)].map(([, name]) => name);
    expect(commands).toEqual(
      'run reply adopt tell interrupt retry cancel status ls watch show log attach wait search events cost export conversation inbox answer diff comment worktrees review overlap integrate roles context team decisions backlog init trust config demo install doctor completion mcp acp open up prune audit db cluster hub machines help'.split(
        ' ',
      ),
    );
    expect(stdout.replace(/\n +/g, ' · ')).toMatch(
      /Exit codes: · 0 success · 1 a run did not complete.* · 2 usage error · 3 an answer is needed · 4 a limit was reached · 124 `squad wait` timed out · 130 interrupted/,
    );
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([]);
    for (const name of commands)
      expect(withOwnCommand(`squad ${name}`, { name: 'other', other: null })).toBe(`other ${name}`);
    expect(await squad.run(['--help'])).toMatchObject({ code: 0, stdout });
    // The build saved it.
    expect(await squad.run(['--help'], { bin: join(BIN, '..', '..', 'dist', 'cli.cjs') })).toEqual({
      code: 0,
      stdout,
      stderr: '',
    });
    expect((await squad.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    // Nobody asked for anything that needs a hub.
    expect(existsSync(squad.home)).toBe(false);
  });

  test('comes with wrong use, which ends with 2', async () => {
    await using squad = new TestSquad();
    for (const args of [['nosuch'], ['show'], ['ls', '--nosuch'], ['config'], ['hub', 'nosuch']]) {
      const ran = await squad.run(args);
      expect([args, ran.code, ran.stdout]).toEqual([args, 2, '']);
      expect(ran.stderr).toMatch(/^(squad: |Usage: )/);
    }
    const { error } = await squad.json<{ error: { code: string; message: string } }>(['nosuch']);
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: "unknown command 'nosuch'" });
    expect(await squad.run(['ls', '--nosuch'])).toMatchObject({
      stderr: "squad: unknown option '--nosuch' (INVALID_INPUT)\n  `squad help ls` shows the usage.\n",
    });
    expect((await squad.run(['run'])).stderr).toContain(
      '\n  squad run "TASK" | ROLE "TASK" [ROLE "TASK" …]\n',
    );
    for (const [wrong, meant] of [
      ['rnu', 'run'],
      ['lgos', 'logs'],
      ['start', 'run'],
      ['kil', 'cancel'],
      ['merge', 'integrate'],
    ] as const)
      expect((await squad.run([wrong])).stderr).toContain(`\n  Did you mean ${meant}`);
    for (const args of [['Fix the test'], ['coder', 'Fix the test']])
      expect((await squad.run(args)).stderr).toContain(
        `To start an agent: squad run ${args.length > 1 ? 'coder ' : ''}'Fix the test'`,
      );
    expect((await squad.run(['run', '--egnine', 'x', 'a'])).stderr).toContain('Did you mean --engine?');
    expect((await squad.run(['config', 'set', 'x'])).stderr).toContain('\n  `squad config help set` ');
  });
});
