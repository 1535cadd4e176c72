import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { RawMcp } from '../../support/raw-mcp.ts';
import { BIN, isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad();
afterAll(() => squad[Symbol.asyncDispose]());

const RELAY = join(BIN, '..', '..', 'dist', 'relay.cjs');
const SCRIPTED = { ENGINE_COMMAND: 'scripted' };
const running = () => squad.json<{ runs: { id: string; status: string }[] }>(['ls', '--all', '--running']);

test('the relay is at most 20 kB and carries neither the SDK nor zod', () => {
  expect(statSync(RELAY).size).toBeLessThanOrEqual(20_000);
  const code = readFileSync(RELAY, 'utf8');
  expect(code.match(/zod|@modelcontextprotocol|better-sqlite3|commander/gi)).toBeNull();
  const loaded = [...code.matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => name!);
  expect(loaded.length).toBeGreaterThan(0);
  expect(loaded.filter(name => !name.startsWith('node:'))).toEqual([]);
});

test('typed on a terminal it explains itself instead of waiting for a protocol nobody types', async () => {
  const home = join(squad.root, 'untouched');
  const socket = join(squad.root, 'tmux');
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', socket, ...args], {
      env: { ...squad.env, SQUAD_HOME: home },
      encoding: 'utf8',
    });
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-x',
    '150',
    '-y',
    '20',
    `${process.execPath} ${BIN} mcp; echo "exit code $?"; cat`,
  );
  const screen = await until('it has ended', () => {
    const shown = tmux('capture-pane', '-p');
    return shown.includes('exit code') ? shown : null;
  });
  tmux('kill-server');
  expect(screen).toContain('Run Squad as an MCP server');
  expect(screen).toContain('squad install CLIENT');
  expect(screen).toContain('exit code 0');
  expect(() => statSync(home)).toThrow('ENOENT');
});

test.each([
  {
    args: ['--workspaces', 'x'],
    words: 'unknown argument --workspaces. Known: --workspace DIR, --toolsets LIST, --identity FILE, --help',
  },
  {
    args: ['--workspace', '.', 'serve'],
    words: 'unknown argument serve. Known: --workspace DIR, --toolsets LIST, --identity FILE, --help',
  },
  {
    args: ['-x'],
    words: 'unknown argument -x. Known: --workspace DIR, --toolsets LIST, --identity FILE, --help',
  },
  { args: ['--workspace'], words: '--workspace needs a folder' },
  { args: ['--workspace='], words: '--workspace needs a folder' },
])('wrong use ($args) is exit code 2 and a word on standard error', async ({ args, words }) => {
  expect(await squad.run(['mcp', ...args])).toEqual({ code: 2, stdout: '', stderr: `squad mcp: ${words}\n` });
});

test('started in a folder that is gone, it says so instead of falling over', () => {
  const shell = (command: string) =>
    spawnSync(
      'sh',
      ['-c', `mkdir gone && cd gone && rmdir ../gone && ${process.execPath} ${BIN} ${command}`],
      {
        cwd: squad.workspace,
        env: squad.env,
        encoding: 'utf8',
        input: '',
      },
    );
  const words = 'The current folder no longer exists';
  expect(shell('mcp')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(`CWD_MISSING: ${words}`),
  });
  expect(shell('ls')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(`${words} (CWD_MISSING)`),
  });
});

test.each([
  { flag: (dir: string) => ['--workspace', dir] },
  { flag: (dir: string) => [`--workspace=${dir}`] },
])('--workspace says where agents work, also relative to the folder of the client', async ({ flag }) => {
  const elsewhere = join(squad.root, 'elsewhere', 'deep');
  mkdirSync(elsewhere, { recursive: true });
  for (const dir of [elsewhere, '../elsewhere/deep']) {
    const client = await RawMcp.legacy(squad, { args: flag(dir), env: { RUN_TEMPLATE: 'pwd' } });
    const started = client.call('start_squad_members', { members: [{ roleId: 'coder', task: 'x' }] });
    expect(await client.told(started)).toMatchObject({ members: [{ rawStdout: `${elsewhere}\n` }] });
    await client.close();
  }
});

test('lines that are no JSON-RPC are answered as such, and the next one is served', async () => {
  const client = await RawMcp.legacy(squad);
  const bad = [
    'not json',
    '{"jsonrpc":"2.0","id":',
    '[]',
    '5',
    'null',
    '"text"',
    '{}',
    '{"jsonrpc":"1.0","id":7,"method":"x"}',
  ];
  client.send(...bad, '', '   ');
  client.child.stdin!.write(Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x0a, 0x00, 0x0a, 0xc3, 0x28, 0x0a]));
  await until('all are answered', () => client.messages.length === 1 + bad.length + 3);
  for (const { error } of client.messages.slice(1)) expect(error?.code).toBeOneOf([-32700, -32600]);
  expect(client.answers(7)).toHaveLength(1);
  expect((await client.ask('no/such/method')).error?.code).toBe(-32601);
  expect((await client.ask('tools/list')).result).toBeDefined();
  expect(await client.close()).toMatchObject({ code: 0, stderr: '' });
});

test('separators that some readers take for the end of a line pass unharmed, both ways', async () => {
  const client = await RawMcp.legacy(squad, { env: { RUN_TEMPLATE: 'printf %s <%= task %>' } });
  const task = 'a\u2028b\u2029c\u0085d\re\fé😀';
  const told = await client.told(
    client.call('start_squad_members', { members: [{ roleId: 'coder', task }] }),
  );
  expect(told).toMatchObject({ members: [{ rawStdout: task }] });
  expect((await client.close()).stdout).not.toMatch(/[\u2028\u2029]/);
  const terminal = await squad.run(['run', 'coder', task], {
    env: { RUN_TEMPLATE: 'printf %s <%= task %>' },
  });
  expect(terminal.code).toBe(0);
});

test('a message of 40 MB is refused by name, and the connection lives on', async () => {
  const client = await RawMcp.legacy(squad);
  const task = 'x'.repeat(1024 * 1024);
  client.child.stdin!.write(
    '{"jsonrpc":"2.0","id":40,"method":"tools/call","params":{"name":"list_roles","arguments":{"a":"',
  );
  for (let megabytes = 0; megabytes < 40; megabytes++) client.child.stdin!.write(task);
  client.child.stdin!.write('"}}}\n');
  expect((await client.answer(40)).error).toMatchObject({ data: { code: 'MESSAGE_TOO_LARGE' } });
  expect(await client.told(client.call('list_running'))).toMatchObject({ count: 0 });
  expect(client.messages).toHaveLength(3);
  await client.close();
});

test('a message of 20 MB passes', async () => {
  const client = await RawMcp.legacy(squad);
  const { error } = await client.answer(client.call('list_roles', { padding: 'x'.repeat(20 * 1024 * 1024) }));
  expect(error).toBeUndefined();
  await client.close();
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'end of input'] as const)(
  'at %s it ends with exit code 0 though a call is waiting, and the run goes on',
  async ending => {
    const go = join(squad.workspace, `go-${ending}`);
    const client = await RawMcp.legacy(squad, { env: SCRIPTED });
    const task = `\`\`\`script\nawait ${go}\n\`\`\``;
    client.call('start_squad_members', { members: [{ roleId: 'coder', task }] });
    const run = await until('the run is running', async () =>
      (await running()).runs.find(each => each.status === 'running'),
    );
    if (ending === 'end of input') client.child.stdin!.end();
    else client.child.kill(ending);
    expect(await client.ended).toMatchObject({ code: 0, stderr: '' });
    expect((await running()).runs).toEqual([expect.objectContaining({ id: run.id, status: 'running' })]);
    writeFileSync(go, '');
    await until('the run has ended well', async () => {
      const { run: shown } = await squad.json<{ run: { status: string } }>(['show', run.id]);
      return shown.status === 'completed';
    });
  },
);

test('requests before the end of the input are answered: printf … | squad mcp', async () => {
  const lines = [
    {
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'printf', version: '1' },
      },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'list_running', arguments: {} } },
  ];
  const input = lines.map(line => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join('');
  await squad.run(['hub', 'stop']);
  for (const hub of ['cold', 'warm']) {
    const { code, stdout, stderr } = await squad.run(['mcp'], { input });
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).id);
    expect([hub, code, ids, stderr]).toEqual([hub, 0, [1, 2], '']);
  }
});

test('a client that closes its end of the output is gone: the relay ends by itself', async () => {
  const client = await RawMcp.legacy(squad);
  client.child.stdout!.destroy();
  client.request('tools/list');
  await until('it has ended', () => !isAlive(client.child.pid!));
});
