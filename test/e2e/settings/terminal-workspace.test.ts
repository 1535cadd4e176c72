import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });

beforeAll(async () => {
  const { code } = await squad.run(['run', 'coder', 'Say hello']);
  expect(code).toBe(0);
});
afterAll(() => squad[Symbol.asyncDispose]());

test('ls finds a workspace however it is named: relative, by a link, by SQUAD_WORKSPACE', async () => {
  const link = join(squad.root, 'link');
  symlinkSync(squad.workspace, link);
  const ways: [string[], { cwd?: string; env?: Record<string, string> }][] = [
    [[], {}],
    [['--workspace', '.'], {}],
    [['--workspace', 'work'], { cwd: squad.root }],
    [['--workspace', link], { cwd: squad.root }],
    [[], { cwd: squad.root, env: { SQUAD_WORKSPACE: 'work' } }],
  ];
  for (const [flags, options] of ways) {
    const { stdout } = await squad.run(['ls', '--json', ...flags], options);
    expect([flags, JSON.parse(stdout).runs.length]).toEqual([flags, 1]);
  }
  const elsewhere = await squad.run(['ls', '--json'], { cwd: squad.root });
  expect(JSON.parse(elsewhere.stdout).runs).toEqual([]);
});

test('a question that nobody can answer ends with exit code 3 and changes nothing', async () => {
  squad.write('templates/run-agent.template', 'cat <%= promptFile %>\n');
  const asked = await squad.run(['trust']);
  expect([asked.code, asked.stderr]).toEqual([3, expect.stringContaining('(ANSWER_NEEDED)')]);
  expect(asked.stderr).toContain('--yes');
  const again = await squad.run(['trust', '--json']);
  expect([again.code, JSON.parse(again.stdout).error.code]).toEqual([3, 'ANSWER_NEEDED']);
  expect((await squad.run(['trust', '--yes'])).code).toBe(0);
  expect((await squad.run(['trust'])).stdout).toContain('Nothing in this workspace needs');
});
