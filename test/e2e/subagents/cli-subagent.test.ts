import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { echoBlock } from '../../servers/start.ts';
import { TestSquad } from '../../support/squad.ts';

const KEY = { ANTHROPIC_API_KEY: 'k' };

test('squad init --subagent creates valid files, prints the next step and never overwrites', {
  tags: ['E6'],
}, async () => {
  await using squad = new TestSquad(KEY);
  const first = await squad.json(['init', '--subagent', 'answer_it', '--schema']);
  expect(first).toEqual({
    root: squad.workspace,
    written: [
      ...['answer_it.subagent.yaml', 'answer_it.prompt.md', 'answer_it.schema.json'],
      '.squad/subagent.schema.json',
    ],
    kept: [],
    entry: expect.objectContaining({ args: expect.arrayContaining(['serve']) }),
  });
  expect(await squad.json(['config', 'lint'])).toMatchObject({
    ...{ errors: 0, warnings: 0 },
    files: [{ file: join(squad.workspace, 'answer_it.subagent.yaml'), findings: [] }],
  });
  const file = join(squad.workspace, 'answer_it.subagent.yaml');
  const [, schema] = /^# yaml-language-server: \$schema=(\S+)$/m.exec(readFileSync(file, 'utf8'))!;
  expect(existsSync(join(squad.workspace, schema!))).toBe(true);

  squad.write('answer_it.prompt.md', 'Mine.');
  const again = await squad.run(['init', '--subagent', 'answer_it']);
  expect(again.code).toBe(0);
  expect(again.stdout).not.toContain('wrote');
  expect(again.stdout).toContain('kept  answer_it.prompt.md');
  expect(again.stdout).toContain('squad config lint answer_it.subagent.yaml');
  expect(readFileSync(join(squad.workspace, 'answer_it.prompt.md'), 'utf8')).toBe('Mine.');
});

test('squad init --subagent prints an entry that works in a client without a PATH, in the home it was printed for', async () => {
  await using squad = new TestSquad(KEY);
  const { stdout } = await squad.run(['init', '--subagent', 'answer_it']);
  const [, entry] = /^ {2}"answer_it": (.*)$/m.exec(stdout)!;
  const { command, args, env: given } = JSON.parse(entry!);
  expect(given).toEqual({ SQUAD_HOME: squad.home });
  const client = new Client({ name: 'docked', version: '1' });
  const env = { ...KEY, HOME: squad.env.HOME!, PATH: '/nowhere', ...given };
  await client.connect(new StdioClientTransport({ command, args, cwd: squad.root, env }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['answer_it']);
  await client.close();
});

test('a subagent without a schema is valid', async () => {
  await using squad = new TestSquad(KEY);
  const { written } = await squad.json<{ written: string[] }>(['init', '--subagent', 'a']);
  expect(written).not.toContain('a.schema.json');
  expect((await squad.run(['config', 'lint'])).stdout).toBe('a.subagent.yaml is valid.\n');
});

test('a name that no tool can have is refused, and nothing is written', async () => {
  await using squad = new TestSquad(KEY);
  for (const name of ['../evil', 'a b', '', 'x'.repeat(65)]) {
    const { code, stderr } = await squad.run(['init', '--subagent', name]);
    expect([code, stderr.replace(/\s+/g, ' ')]).toEqual([
      2,
      expect.stringContaining('is not a valid tool name'),
    ]);
  }
  expect(existsSync(join(squad.workspace, '.squad'))).toBe(false);
});

test('squad config lint says what is wrong where, without a hub', { tags: ['E6'] }, async () => {
  await using squad = new TestSquad(KEY);
  await squad.run(['init', '--subagent', 'fine']);
  squad.write(
    'odd.subagent.yaml',
    `${readFileSync(join(squad.workspace, 'fine.subagent.yaml'), 'utf8')}extra: 1\n`,
  );
  const odd = await squad.run(['config', 'lint', 'odd.subagent.yaml']);
  expect(odd.code).toBe(0);
  expect(odd.stdout).toMatch(/^odd\.subagent\.yaml:\d+:1: warning: the key "extra" is not known/);

  squad.write('bad/bad.subagent.yaml', 'subagent:\n  name: a b\n');
  const all = await squad.run(['config', 'lint']);
  expect(all.code).toBe(2);
  expect(all.stdout).toContain('fine.subagent.yaml is valid.');
  expect(all.stdout).toContain('bad/bad.subagent.yaml:1:1: error: "subagent.description" is missing');
  expect(all.stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d errors, 1 warning$/);

  const none = await squad.run(['config', 'lint', 'nowhere.yaml', '--json']);
  expect(none.code).toBe(2);
  expect(JSON.parse(none.stdout)).toMatchObject({
    errors: 1,
    files: [{ findings: [{ severity: 'error', code: 'CONFIG_INVALID', line: null }] }],
  });
  expect(existsSync(join(squad.home, 'hub.sock'))).toBe(false);
});

test('of far too many findings all are counted, and not all printed', async () => {
  await using squad = new TestSquad(KEY);
  await squad.run(['init', '--subagent', 'fine']);
  const text = readFileSync(join(squad.workspace, 'fine.subagent.yaml'), 'utf8');
  const strange = Array.from({ length: 150 }, (_, at) => `strange${at}: 1\n`).join('');
  squad.write('odd.subagent.yaml', `${text}${strange}`);
  const { code, stdout } = await squad.run(['config', 'lint', 'odd.subagent.yaml']);
  expect(code).toBe(0);
  expect(stdout.match(/the key "strange\d+" is not known/g)).toHaveLength(100);
  expect(stdout).toMatch(/^odd\.subagent\.yaml: warning: 50 more warnings\n0 errors, 150 warnings\n$/m);
});

test('several files and whole folders are checked at once, each file once', { tags: ['E6'] }, async () => {
  await using squad = new TestSquad(KEY);
  await squad.run(['init', '--subagent', 'fine']);
  const text = readFileSync(join(squad.workspace, 'fine.subagent.yaml'), 'utf8');
  squad.write('p/fine.prompt.md', 'You answer.');
  squad.write('p/one.subagent.yaml', text);
  squad.write('p/two.subagent.yaml', text.replace('version: "1.0"', 'version: "9.0"'));
  squad.write('p/other.yaml', 'never looked at');
  const given = ['fine.subagent.yaml', 'p', 'p/two.subagent.yaml'];
  const { code, stdout } = await squad.run(['config', 'lint', ...given, '--json']);
  expect(code).toBe(2);
  const { files, errors } = JSON.parse(stdout) as { files: { file: string }[]; errors: number };
  expect(files.map(({ file }) => file.replace(`${squad.workspace}/`, ''))).toEqual([
    ...['fine.subagent.yaml', 'p/one.subagent.yaml', 'p/two.subagent.yaml'],
  ]);
  expect(errors).toBe(1);
  const told = await squad.run(['config', 'lint', ...given]);
  expect(told.stdout).toContain(
    'p/two.subagent.yaml:5:1: error: "version" is not a supported format version; use "1.0"',
  );

  squad.write('none/x.txt', '');
  const none = await squad.run(['config', 'lint', 'none']);
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining('No *.subagent.yaml or *.cpe.yaml in'),
  ]);
});

test('files are checked where nobody has the keys, which is said and is no error', {
  tags: ['E6'],
}, async () => {
  await using squad = new TestSquad({ ANTHROPIC_API_KEY: '' });
  await squad.run(['init', '--subagent', 'a']);
  const { code, stdout } = await squad.run(['config', 'lint']);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^a\.subagent\.yaml:\d+:5: warning: the API key is missing: the variable ANTHROPIC_API_KEY is not set$/m,
  );
  const served = await squad.run(['mcp', 'serve', '--config', 'a.subagent.yaml']);
  expect(served).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('API_KEY_MISSING') });
});

test('squad init --schema is for a subagent, and does nothing without one', async () => {
  await using squad = new TestSquad(KEY);
  const { code, stderr } = await squad.run(['init', '--schema']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('squad init --subagent NAME --schema')]);
  expect(existsSync(join(squad.workspace, '.squad'))).toBe(false);
});

test('a folder without such files is reported as such', async () => {
  await using squad = new TestSquad(KEY);
  const { code, stdout } = await squad.run(['config', 'lint']);
  expect(code).toBe(0);
  expect(stdout).toContain('squad init --subagent NAME');
  expect(await squad.json(['config', 'lint'])).toEqual({ errors: 0, warnings: 0, files: [] });
});

test("squad config lint finds CPE's files too, and passes over those that define no subagent", {
  tags: ['E6'],
}, async () => {
  await using squad = new TestSquad(KEY);
  await squad.run(['init', '--subagent', 'fine']);
  squad.write('coder_agent.cpe.yaml', readFileSync(join(squad.workspace, 'fine.subagent.yaml'), 'utf8'));
  squad.write('parent.cpe.yaml', 'mcpServers:\n  repo_coder:\n    command: cpe\n    type: stdio\n');
  const { code, stdout } = await squad.run(['config', 'lint']);
  expect([code, stdout.split('\n')]).toEqual([
    0,
    [
      'coder_agent.cpe.yaml is valid.',
      'fine.subagent.yaml is valid.',
      expect.stringMatching(/^parent\.cpe\.yaml.*: warning: defines no subagent, so it was not checked$/),
      '0 errors, 1 warning',
      '',
    ],
  ]);
  expect((await squad.run(['config', 'lint', 'parent.cpe.yaml'])).code).toBe(2);
});

test('squad mcp tools FILE lists the tools of a subagent, by the names its model has for them', {
  tags: ['E3'],
}, async () => {
  await using squad = new TestSquad({});
  const file = (mcpServers: object) =>
    squad.write(
      'coder_agent.cpe.yaml',
      JSON.stringify({
        version: '1.0',
        models: [{ ref: 'opus', id: 'claude-opus-4', type: 'anthropic', api_key_env: 'A_KEY_NOBODY_HAS' }],
        subagent: { name: 'implement_change', description: 'Make code changes.' },
        defaults: { model: 'opus' },
        mcpServers,
      }),
    );
  const { command, args } = echoBlock();
  file({ repo_coder: { command, args, disabledTools: ['count', 'progress'] } });
  const { code, stdout } = await squad.run(['mcp', 'tools', 'coder_agent.cpe.yaml']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('implement_change: Make code changes.')]);
  expect(stdout).toContain('The subagent sees 2 of 4 tools.');
  expect(stdout).toMatch(/^repo_coder__echo +yes/m);
  expect(stdout).toMatch(/^repo_coder__count +no +excluded/m);

  file({ repo_coder: { command, args, disabledTools: ['cuont'] }, gone: { command: './not-there' } });
  const listed = await squad.run(['mcp', 'tools', 'coder_agent.cpe.yaml', '--json']);
  expect(listed.code).toBe(1);
  expect(JSON.parse(listed.stdout)).toMatchObject({
    name: 'implement_change',
    tools: Array.from({ length: 4 }, () => ({ isVisible: false, reason: expect.stringContaining('hidden') })),
    faults: [{ server: 'gone', isStarting: false }],
  });
  const both = await squad.run(['mcp', 'tools', 'coder_agent.cpe.yaml', '--role', 'coder']);
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('either')]);
});
