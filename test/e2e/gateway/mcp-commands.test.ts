import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { BIN, TestSquad } from '../../support/squad.ts';

const FILE = '.squad/mcp-config.json';
const configOf = (squad: TestSquad) => JSON.parse(readFileSync(join(squad.workspace, FILE), 'utf8'));

interface Added {
  file: string;
  isTrusted: boolean;
  server: string;
}

describe('squad mcp add', () => {
  test('writes a server down with whose it is, trusted because the user wrote it', {
    tags: ['B8'],
  }, async () => {
    await using squad = new TestSquad();
    const local = await squad.run([
      ...['mcp', 'add', 'files', '--role', 'coder', '--role', 'reviewer', '--tools', 'read, list'],
      ...['--env', `ROOT=\${SQUAD_ROOT}`, '--', 'npx', '-y', 'files@1.0.0', '--json', '.'],
    ]);
    expect(local).toMatchObject({ code: 0, stderr: '' });
    expect(local.stdout).toContain('Given to: coder, reviewer.');
    expect(local.stdout).toContain('List its tools: squad mcp tools --role coder\n');
    const remote = await squad.json<Added>([
      ...['mcp', 'add', 'docs', '--shared', '--url', 'https://docs.example/mcp', '--header', 'X-Key=a=b'],
    ]);
    expect(remote).toMatchObject({ server: 'docs', isTrusted: true, file: join(squad.workspace, FILE) });
    expect(configOf(squad)).toMatchObject({
      servers: {
        files: {
          command: 'npx',
          args: ['-y', 'files@1.0.0', '--json', '.'],
          env: { ROOT: `\${SQUAD_ROOT}` },
          tools: ['read', 'list'],
        },
        docs: { type: 'http', url: 'https://docs.example/mcp', headers: { 'X-Key': 'a=b' }, tools: ['*'] },
      },
      agentServers: { coder: ['files'], reviewer: ['files'] },
      shared: ['docs'],
    });
    expect((await squad.run(['trust'])).stdout).toContain('Nothing in this workspace needs your trust.');
  });

  test('replaces nothing unless told to, and says so about roles that are not there', async () => {
    await using squad = new TestSquad();
    await squad.run(['mcp', 'add', 'one', '--', 'first']);
    const again = await squad.run(['mcp', 'add', 'one', '--', 'second']);
    expect(again).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The server one exists already'),
    });
    expect(configOf(squad).servers.one.command).toBe('first');
    const forced = await squad.run(['mcp', 'add', 'one', '--force', '--role', 'nobody', '--', 'second']);
    expect(forced.stdout).toContain('There is no role nobody here');
    expect(configOf(squad).servers.one.command).toBe('second');
  });

  test('does not lend trust to what came with the repository', async () => {
    await using squad = new TestSquad();
    squad.write(FILE, '{ "servers": { "theirs": { "command": "evil", "tools": ["*"] } } }');
    const { code, stdout } = await squad.run(['mcp', 'add', 'mine', '--', 'good']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('has no effect yet: read it, then run `squad trust`'),
    ]);
    expect(existsSync(join(squad.home, 'trust.json'))).toBe(false);
  });

  describe('is wrong use', () => {
    const squad = new TestSquad();
    afterAll(() => squad[Symbol.asyncDispose]());

    test.each([
      [['x']],
      [['x', '--url', 'http://h', '--', 'cmd']],
      [['x', '--env', 'A=1', '--url', 'http://h']],
      [['x', '--header', 'A=1', '--', 'cmd']],
      [['x', '--sse', '--', 'cmd']],
      [['x', '--env', 'A', '--', 'cmd']],
      [['Not A Name', '--', 'cmd']],
      [['squad', '--', 'cmd']],
      [['x', '--', '']],
      [['x', '--url', 'ftp://host/mcp']],
      [['x', '--url', 'http://169.254.169.254/mcp']],
      [['x', '--env', `A=\${A:-b}`, '--', 'cmd']],
    ])('%j', async args => {
      const ran = await squad.run(['mcp', 'add', ...args]);
      expect([ran.code, ran.stdout]).toEqual([2, '']);
      expect(ran.stderr).toContain('(INVALID_INPUT)');
      expect(existsSync(join(squad.workspace, '.squad'))).toBe(false);
    });
  });

  test('eight at once are all there and trusted, and so is whatever else is trusted meanwhile', async () => {
    await using squad = new TestSquad();
    const names = Array.from({ length: 8 }, (_, at) => `s${at}`);
    const adds = names.map(name => squad.run(['mcp', 'add', name, '--role', 'coder', '--', 'program', name]));
    for (const add of await Promise.all(adds)) expect(add).toMatchObject({ code: 0, stderr: '' });
    expect(Object.keys(configOf(squad).servers).sort()).toEqual(names);
    expect(configOf(squad).agentServers.coder.toSorted()).toEqual(names);
    const files = names.map(name => squad.write(`${name}.json`, name));
    const trusts = files.map(file => squad.run(['trust', '--yes', file]));
    for (const given of await Promise.all(trusts)) expect(given).toMatchObject({ code: 0, stderr: '' });
    const record = JSON.parse(readFileSync(join(squad.home, 'trust.json'), 'utf8')) as { files: object };
    expect(Object.keys(record.files).sort()).toEqual([join(squad.workspace, FILE), ...files].sort());
    expect((await squad.run(['trust'])).stdout).toContain('Nothing in this workspace needs your trust.');
    expect(readdirSync(squad.home).filter(name => /^(trust\.json|mcp-config)\.lock/.test(name))).toEqual([]);
  });

  test('warns about a secret that stands in the file', async () => {
    await using squad = new TestSquad();
    const secret = 'sk-0123456789abcdef';
    const local = await squad.run(['mcp', 'add', 'a', '--env', `API_KEY=${secret}`, '--', 'cmd']);
    expect(local.stdout).toContain(
      `This looks like a secret in a file that others read. Put it into a variable and write \${API_KEY}.`,
    );
    const remote = await squad.run([
      ...['mcp', 'add', 'b', '--header', `Authorization=Bearer ${secret}`, '--url', 'https://h.example/mcp'],
    ]);
    expect(remote.stdout).toContain('This looks like a secret');
    expect(local.stdout + remote.stdout).not.toContain(secret);
  });

  test('leaves a broken file alone and says where it is broken', async () => {
    await using squad = new TestSquad();
    squad.write(FILE, '{\n  "servers": {,}\n}');
    expect(await squad.run(['mcp', 'add', 'x', '--', 'y'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('line 2, column 15: '),
    });
    expect(readFileSync(join(squad.workspace, FILE), 'utf8')).toBe('{\n  "servers": {,}\n}');
  });
});

describe('squad mcp remove', () => {
  test('takes a server out with whatever referred to it, keeps trust, and names role files that want it', async () => {
    await using squad = new TestSquad();
    squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
    mkdirSync(squad.env.SQUAD_AGENTS_DIR);
    writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'coder.md'), '---\nmcp: [one/x]\n---\nYou code.\n');
    await squad.run(['mcp', 'add', 'one', '--role', 'coder', '--shared', '--', 'first']);
    await squad.run(['mcp', 'add', 'two', '--role', 'coder', '--', 'second']);
    expect(await squad.run(['mcp', 'remove', 'onne'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The servers are: one, two.'),
    });
    const removed = await squad.run(['mcp', 'remove', 'one']);
    expect(removed).toMatchObject({ code: 0, stderr: '' });
    expect(removed.stdout).toMatch(
      /^Removed one and all references to it from .*\n.*coder\.md still names the server under mcp\.\n$/,
    );
    const { servers, agentServers, shared } = configOf(squad);
    expect([Object.keys(servers), agentServers, shared]).toEqual([['two'], { coder: ['two'] }, []]);
    expect((await squad.run(['trust'])).stdout).toContain('Nothing in this workspace needs your trust.');
  });
});

describe('squad mcp import', () => {
  const other = (squad: TestSquad) => {
    squad.write(
      '.mcp.json',
      '{ "mcpServers": { "A B": { "command": "ab", "env": { "MODE": "--require x" } } } }',
    );
    squad.write('.cursor/mcp.json', '{ "mcpServers": { "web": { "url": "https://web.example/mcp" } } }');
    squad.write('.vscode/mcp.json', '{ "servers": { "a-b": { "command": "other", }, /* gone */ } }');
  };

  test('shows what it would add, and adds it with a yes, for nobody yet', { tags: ['B8'] }, async () => {
    await using squad = new TestSquad();
    other(squad);
    const shown = await squad.run(['mcp', 'import']);
    expect(shown).toMatchObject({ code: 3, stderr: expect.stringContaining('--yes writes them') });
    expect(shown.stdout).toContain('A B as a-b: ab\n    with MODE=--require x\n');
    expect(existsSync(join(squad.workspace, FILE))).toBe(false);
    const done = await squad.run(['mcp', 'import', '--yes']);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toContain('No role has the server yet');
    const { servers, agentServers, shared } = configOf(squad);
    expect(Object.keys(servers)).toEqual(['a-b', 'web', 'a-b-2']);
    expect([agentServers, shared]).toEqual([undefined, undefined]);
    expect((await squad.run(['mcp', 'import', '--yes'])).stdout).toContain('Nothing was written.');
  });

  test('gives the servers of the named file to the named role', async () => {
    await using squad = new TestSquad();
    other(squad);
    const result = await squad.json<{ servers: { id: string }[]; written: Added }>([
      ...['mcp', 'import', '.vscode/mcp.json', '--role', 'coder', '--yes'],
    ]);
    expect(result.servers.map(({ id }) => id)).toEqual(['a-b']);
    expect(result.written.isTrusted).toBe(true);
    expect(configOf(squad).agentServers).toEqual({ coder: ['a-b'] });
  });

  test('gives existing servers to the named role, and does not import disabled ones', async () => {
    await using squad = new TestSquad();
    squad.write(
      '.mcp.json',
      '{ "mcpServers": { "a": { "command": "a" }, "off": { "command": "b", "disabled": true } } }',
    );
    const first = await squad.run(['mcp', 'import', '--yes']);
    expect(first.stdout).toContain('off is not imported: it is disabled in that file');
    expect(Object.keys(configOf(squad).servers)).toEqual(['a']);
    const again = await squad.run(['mcp', 'import', '--role', 'coder', '--yes']);
    expect(again.stdout).toContain('a exists already, as a');
    expect(again.stdout).toContain('Given to: coder.');
    expect(configOf(squad).agentServers).toEqual({ coder: ['a'] });
    expect((await squad.run(['mcp', 'import', '--role', 'coder', '--yes'])).stdout).toContain(
      'Nothing was written.',
    );
  });

  test('says where it looked when there is nothing', async () => {
    await using squad = new TestSquad();
    expect(await squad.run(['mcp', 'import'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('.mcp.json, .cursor/mcp.json, .vscode/mcp.json'),
    });
  });
});

describe('squad mcp lint', () => {
  test('ends with 2 for what is wrong, with 0 for what is odd, and names every place', async () => {
    await using squad = new TestSquad();
    expect(await squad.run(['mcp', 'lint'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('squad mcp add NAME'),
    });
    squad.write(
      FILE,
      '{\n  "servers": { "a": { "url": "x", "tools": [] } },\n  "toolRestrictions": { "coder": { "a": { "exlude": [] } } }\n}',
    );
    const wrong = await squad.run(['mcp', 'lint']);
    expect(wrong.code).toBe(2);
    expect(wrong.stdout).toMatch(
      /mcp-config\.json:2:23: error: "servers\.a\.url" does not go with this type/,
    );
    expect(wrong.stdout).toMatch(
      /:3:43: error: the key "exlude" is not known .*\n {2}Did you mean exclude\?/,
    );
    squad.write(FILE, '{ "servers": { "a": { "command": "x", "tools": ["*"] } } }');
    const odd = await squad.json<{ errors: number; warnings: number; remarks: { line: number }[] }>([
      'mcp',
      'lint',
    ]);
    expect(odd).toMatchObject({ errors: 0, warnings: 1, remarks: [{ level: 'warning', line: 1 }] });
    expect((await squad.run(['mcp', 'lint'])).code).toBe(0);
    squad.write(
      FILE,
      '{ "servers": { "a": { "command": "x", "tools": ["*"] } }, "agentServers": { "codre": ["a"] } }',
    );
    expect((await squad.run(['mcp', 'lint'])).stdout).toContain('codre');
  });

  test('tells everything that is wrong, and how much of the file counts', async () => {
    await using squad = new TestSquad();
    squad.write(
      FILE,
      '{ "servers": { "a": { "command": "x", "tols": [], "timeout": 1 }, "b": { "command": 7, "tools": [] } } }',
    );
    const { code, stdout } = await squad.run(['mcp', 'lint']);
    expect(code).toBe(2);
    for (const part of ['"tols"', '"servers.a.timeout"', '"servers.b.command"'])
      expect(stdout).toContain(part);
    expect(stdout).toContain(
      '3 errors, 0 warnings\nDisabled until corrected: a, b. The rest of the file has effect.\n',
    );
    squad.write(FILE, '{ "servers": {}, "shraed": [] }');
    expect((await squad.run(['mcp', 'lint'])).stdout).toContain(
      '1 error, 0 warnings\nThe file is invalid and has no effect',
    );
    expect(await squad.run(['trust'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/mcp-config\.json, line 1, column \d+: .*\(CONFIG_INVALID\)/s),
    });
  });

  test('knows what role files give, trusted or not, and what they name that is not there', async () => {
    await using squad = new TestSquad();
    await squad.run(['mcp', 'add', 'mem', '--', 'x']);
    const role = squad.write(
      '.squad/agents/scribe/charter.md',
      '---\nname: Scribe\nmcp: [mem, fils/read]\n---\nYou write.\n',
    );
    const waits = await squad.run(['mcp', 'lint']);
    expect(waits.stdout).toContain(
      `Only ${role} gives the server mem to a role, and that file is not trusted`,
    );
    expect(waits.stdout).toContain(`${role}:3:1: warning: There is no server "fils"`);
    await squad.run(['trust', '--yes', role]);
    const trusted = await squad.run(['mcp', 'lint']);
    expect(trusted.stdout).not.toContain('the server mem');
    expect((await squad.run(['mcp', 'status'])).stdout).not.toContain('gives the server mem');
  });

  test('looks at another file', async () => {
    await using squad = new TestSquad();
    squad.write('elsewhere.json', '{"servers": {}}');
    expect(await squad.run(['mcp', 'lint', 'elsewhere.json'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('is in order'),
    });
    expect((await squad.run(['mcp', 'lint', 'nowhere.json'])).code).toBe(2);
  });
});

describe('configuration of a repository', () => {
  const THEIRS = JSON.stringify({
    servers: {
      db: { command: 'npx', args: ['-y', 'db server'], env: { URL: `\${DB_URL}` }, tools: ['*'] },
      docs: { type: 'http', url: 'https://docs.example/mcp', headers: { A: `Bearer \${KEY}` }, tools: [] },
    },
    agentServers: { coder: ['db'] },
    shared: ['docs'],
  });

  test('is reported by squad doctor and explained by squad trust before anybody says yes', async () => {
    await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    const file = squad.write(FILE, THEIRS);
    const doctor = await squad.run(['doctor']);
    expect(doctor.stdout).toMatch(/^warning {2}servers {4}0 active/m);
    expect(doctor.stdout).toContain('has no effect until you trust it');
    const asked = await squad.run(['trust']);
    expect(asked.code).toBe(3);
    expect(asked.stdout).toContain(
      [
        'Once trusted, this file',
        '  starts  db: npx -y "db server"',
        '  reaches docs: https://docs.example/mcp',
        '  reads   DB_URL, KEY of your environment',
        '  gives   every run: docs',
        '          coder: db',
      ].join('\n'),
    );
    const { files } = await squad.json<{ files: { file: string; trusted: boolean }[] }>(['trust', '--yes']);
    expect(files).toEqual([{ file, trusted: true }]);
    expect((await squad.run(['doctor'])).stdout).toMatch(/2 active/);
  });
});

/** A server whose tools are what `tools.json` says when it is asked. */
const SERVER = `
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const say = body => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n');
  if (method === 'initialize')
    say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'demo', version: '1' } } });
  else if (method === 'tools/list') say({ result: { tools: JSON.parse(readFileSync('tools.json', 'utf8')) } });
  else say({ error: { code: -32601, message: 'Unknown' } });
});
`;
const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: 'object' } });

interface RoleTools {
  tools: { tool: string; name: string; isVisible: boolean; reason: string | null }[];
}

describe('running servers', () => {
  const offer = (squad: TestSquad, ...tools: object[]) => squad.write('tools.json', JSON.stringify(tools));
  const started = async (env: Record<string, string> = {}) => {
    const squad = new TestSquad(env);
    squad.write('server.mjs', SERVER);
    offer(squad, tool('read', 'Reads'), tool('write', 'Writes'));
    await squad.run(['mcp', 'add', 'demo', '--role', 'coder', '--', process.execPath, 'server.mjs']);
    return squad;
  };
  const seenBy = async (squad: TestSquad, ...words: string[]) => {
    const { tools } = await squad.json<RoleTools>(['mcp', 'tools', ...words]);
    return Object.fromEntries(tools.map(({ name, isVisible, reason }) => [name, isVisible || reason]));
  };

  test('say what to do where there are none', async () => {
    await using squad = new TestSquad();
    for (const words of [['status'], ['tools']])
      expect(await squad.run(['mcp', ...words])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^No servers yet\.\nAdd one with `squad mcp add NAME -- COMMAND`/),
      });
    expect((await squad.run(['mcp', 'approve'])).stdout).toBe('Nothing is pending.\n');
    squad.write(FILE, '{ "servers": { "a": { "command": "a", "tools": [] } } }');
    const { stdout } = await squad.run(['mcp', 'status']);
    expect(stdout).toContain('No servers are available: the configuration has no effect.');
    expect(stdout).toContain('has no effect until you trust it: it would start a (a)');
  });

  test('are shown to be idle, then up, and a role sees what it has', async () => {
    await using squad = await started();
    expect((await squad.run(['mcp', 'status'])).stdout).toMatch(/^demo +stdio +idle/m);
    const tools = await squad.run(['mcp', 'tools', '--role', 'coder']);
    expect(tools).toMatchObject({ code: 0, stderr: '' });
    expect(tools.stdout).toContain('The role coder sees 2 of 2 tools.');
    expect(tools.stdout).toMatch(/^demo__read +yes +Reads$/m);
    expect((await squad.run(['mcp', 'status'])).stdout).toMatch(/^demo +stdio +up +\d.* 2 /m);
    expect(await seenBy(squad, '--role', 'reviewer')).not.toMatchObject({ demo__read: true });
    const nobody = await squad.run(['mcp', 'tools']);
    expect(nobody.stdout).toMatch(/^demo__read +no +the role does not have this server$/m);
    expect(await squad.run(['mcp', 'tools', '--role', 'codre'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('(ROLE_UNKNOWN)'),
    });
  });

  test('have names that are checked once they were seen', async () => {
    await using squad = await started();
    const config = configOf(squad);
    config.toolRestrictions = { coder: { demo: { exclude: ['rite'] } } };
    squad.write(FILE, JSON.stringify(config));
    await squad.run(['trust', '--yes', join(squad.workspace, FILE)]);
    expect(await squad.run(['mcp', 'lint'])).toMatchObject({ code: 0 });
    const wrong =
      'There is no tool "rite" in demo, so its tools are hidden until this is corrected or confirmed';
    const tools = await squad.run(['mcp', 'tools', '--role', 'coder']);
    expect(tools.stdout.replaceAll('\n', ' ')).toContain(`${wrong}. Did you mean "write"?`);
    expect((await squad.run(['mcp', 'status'])).stdout.replaceAll('\n', ' ')).toContain(wrong);
    const lint = await squad.run(['mcp', 'lint']);
    expect(lint.code).toBe(2);
    expect(lint.stdout).toContain(`error: ${wrong}\n  Did you mean "write"?`);
    expect(await squad.run(['mcp', 'approve', 'dmo'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no server "dmo" \(INVALID_INPUT\)\n {2}Did you mean "demo"\?/),
    });
    expect((await squad.run(['mcp', 'approve', 'demo/wrte'])).stderr).toContain('Did you mean "write"?');
    expect((await squad.run(['mcp', 'approve', 'demo/read'])).stdout).toBe(
      'Nothing of demo/read is pending.\n',
    );
  });

  test('that are slow to start are shown as starting', async () => {
    await using squad = new TestSquad();
    squad.write('mute.mjs', 'process.stdin.resume();');
    await squad.run(['mcp', 'add', 'mute', '--role', 'coder', '--', process.execPath, 'mute.mjs']);
    const { stdout } = await squad.run(['mcp', 'tools', '--role', 'coder']);
    expect(stdout).toMatch(/^mute is still starting; run this again in a moment\n/);
    expect(stdout).not.toContain('gets no tools');
  });

  test('withhold what came or changed later until somebody has read it', { tags: ['B3'] }, async () => {
    await using squad = await started();
    expect(await seenBy(squad, '--role', 'coder')).toEqual({ demo__read: true, demo__write: true });
    await squad.run(['hub', 'stop']);
    offer(squad, tool('read', 'Reads \u001b[31mall\u202e'), tool('write', 'Writes'), tool('drop', 'Drops'));
    expect(await seenBy(squad, '--role', 'coder')).toEqual({
      demo__read: 'pending approval',
      demo__write: true,
      demo__drop: 'pending approval',
    });
    expect((await squad.run(['mcp', 'status'])).stdout).toContain(
      '2 waiting for approval: squad mcp approve',
    );

    const asked = await squad.run(['mcp', 'approve']);
    expect(asked).toMatchObject({ code: 3, stderr: expect.stringContaining('Approve these 2?') });
    expect(asked.stdout).toMatch(/^demo\/read has changed, seen /m);
    expect(asked.stdout).toMatch(/^-.*Reads/m);
    expect(asked.stdout).toMatch(/^\+.*Reads .*all/m);
    for (const mark of ['\u001b', '\u202e']) expect(asked.stdout).not.toContain(mark);
    expect(await squad.run(['mcp', 'approve', 'demo/read', '--yes'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('approved  demo/read'),
    });
    expect(await seenBy(squad, '--role', 'coder')).toEqual({
      demo__read: true,
      demo__write: true,
      demo__drop: 'pending approval',
    });
    const { approved } = await squad.json<{ approved: { tool: string }[] }>([
      'mcp',
      'approve',
      'demo',
      '--yes',
    ]);
    expect(approved.map(each => each.tool)).toEqual(['drop']);
    expect(await seenBy(squad, '--role', 'coder')).toMatchObject({ demo__drop: true });
  });

  test('that cannot be started say why', async () => {
    await using squad = await started();
    await squad.run(['mcp', 'add', 'gone', '--role', 'coder', '--', './not-there']);
    await squad.run(['mcp', 'add', 'unset', '--role', 'coder', '--env', `A=\${NOT_SET_HERE}`, '--', 'true']);
    const { stdout } = await squad.run(['mcp', 'tools', '--role', 'coder']);
    expect(stdout).toContain('sees 2 of 2 tools');
    expect(stdout).toMatch(/^gone: .*not-there/m);
    expect(stdout).toMatch(/^unset: .*NOT_SET_HERE/m);
    const status = await squad.run(['mcp', 'status']);
    expect(status.stdout).toMatch(/^unset +stdio +unusable .*NOT_SET_HERE/m);
  });
});

test('a text that was trusted before the last one asks again, and trust is taken back from a file that is gone', async () => {
  await using squad = new TestSquad();
  const file = join(squad.workspace, FILE);
  const state = async () => (await squad.json<{ state: string }>(['mcp', 'status'])).state;
  await squad.run(['mcp', 'add', 'one', '--', 'program']);
  const broad = readFileSync(file, 'utf8');
  await squad.run(['mcp', 'add', 'one', '--force', '--tools', 'read', '--', 'program']);
  const narrow = readFileSync(file, 'utf8');
  squad.write(FILE, broad);
  expect(await state()).toBe('untrusted');
  squad.write(FILE, narrow);
  expect(await state()).toBe('trusted');
  rmSync(file);
  expect(await squad.run(['trust', '--remove', file])).toMatchObject({ code: 0 });
  expect(await squad.run(['trust', '--remove', file])).toMatchObject({ code: 2 });
  squad.write(FILE, narrow);
  expect(await state()).toBe('untrusted');
});

test('agents may neither change nor approve nor look', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted', NODE: process.execPath, SQUAD: BIN });
  squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
  mkdirSync(squad.env.SQUAD_AGENTS_DIR);
  writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'lead.md'), '---\nspawn: true\n---\nYou lead.\n');
  squad.write('.mcp.json', '{ "mcpServers": { "a": { "command": "a" } } }');
  const tries = ['add x -- y', 'remove x', 'import --yes', 'status', 'tools', 'approve --yes'];
  const script = tries.map(words => `try "$NODE" "$SQUAD" mcp ${words}`).join('\n');
  const { runIds } = await squad.json<{ runIds: [string] }>([
    ...['run', '-d', 'lead', `x\n\`\`\`script\n${script}\n\`\`\``],
  ]);
  await squad.run(['wait', ...runIds]);
  const { stdout } = await squad.run(['log', ...runIds]);
  expect(stdout.match(/\(NOT_ALLOWED\)/g)).toHaveLength(tries.length);
  expect(existsSync(join(squad.workspace, FILE))).toBe(false);
});

test('squad mcp with a word that means nothing says which ones do; alone it is the server that clients start', async () => {
  await using squad = new TestSquad();
  const wrong = await squad.run(['mcp', 'nosuch']);
  expect(wrong).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('(INVALID_INPUT)') });
  expect(wrong.stderr).toContain(
    'Subcommands of squad mcp: serve, add, remove, import, lint, status, tools, approve',
  );
  const { stderr } = await squad.run(['mcp', '--help']);
  expect(stderr).toMatch(
    /squad help mcp +Manage MCP servers for agents: add, remove,\s+import, lint, status, tools, approve/,
  );
});
