import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';

const KEY = { ANTHROPIC_API_KEY: 'k' };

test('squad init --subagent lays down files that are in order, says what comes next and never overwrites', async () => {
  await using squad = new TestSquad(KEY);
  const first = await squad.json(['init', '--subagent', 'answer_it', '--schema']);
  expect(first).toEqual({
    root: squad.workspace,
    written: [
      ...['answer_it.subagent.yaml', 'answer_it.prompt.md', 'answer_it.schema.json'],
      '.squad/subagent.schema.json',
    ],
    kept: [],
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
  expect(again.stdout).toContain(
    `"answer_it": {"command":"squad","args":["mcp","serve","--config",${JSON.stringify(file)}]}`,
  );
  expect(readFileSync(join(squad.workspace, 'answer_it.prompt.md'), 'utf8')).toBe('Mine.');
});

test('one without a schema is in order too', async () => {
  await using squad = new TestSquad(KEY);
  const { written } = await squad.json<{ written: string[] }>(['init', '--subagent', 'a']);
  expect(written).not.toContain('a.schema.json');
  expect((await squad.run(['config', 'lint'])).stdout).toBe('a.subagent.yaml is in order.\n');
});

test('a name that no tool can have is refused, and nothing is written', async () => {
  await using squad = new TestSquad(KEY);
  for (const name of ['../evil', 'a b', '', 'x'.repeat(65)]) {
    const { code, stderr } = await squad.run(['init', '--subagent', name]);
    expect([code, stderr.replace(/\s+/g, ' ')]).toEqual([
      2,
      expect.stringContaining('cannot be the name of a tool'),
    ]);
  }
  expect(existsSync(join(squad.workspace, '.squad'))).toBe(false);
});

test('squad config lint says what is wrong where, without a hub', async () => {
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
  expect(all.stdout).toContain('fine.subagent.yaml is in order.');
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

test('where there are no such files, that is all there is to say', async () => {
  await using squad = new TestSquad(KEY);
  const { code, stdout } = await squad.run(['config', 'lint']);
  expect(code).toBe(0);
  expect(stdout).toContain('squad init --subagent NAME');
  expect(await squad.json(['config', 'lint'])).toEqual({ errors: 0, warnings: 0, files: [] });
});
