import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
squad.sharesCompiled = false;
let script = '';
beforeAll(async () => {
  script = (await squad.run(['completion', 'bash'])).stdout;
});
afterAll(() => squad[Symbol.asyncDispose]());

/** Completions that a real bash offers when Tab is pressed after these words. */
async function tab(...words: string[]): Promise<string[]> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: bash fills it in
  const answer = 'printf "%s\\n" "${COMPREPLY[@]}"';
  const press = `eval "$1"; shift; COMP_WORDS=(squad "$@"); COMP_CWORD=$#; complete -p squad >/dev/null || exit 1
_squad_complete; ${answer}`;
  const args = ['--norc', '-c', press, 'bash', script, ...words];
  const { stdout } = await promisify(execFile)('bash', args, { env: squad.env, cwd: squad.workspace });
  return stdout.split('\n').filter(Boolean);
}

test('bash completes commands, those below them, options and their values', async () => {
  expect(await tab('re')).toEqual(['reply', 'retry', 'review']);
  expect(await tab('hub', 'st')).toEqual(['start', 'stop', 'status']);
  expect(await tab('log', '--fo')).toEqual(['--follow']);
  expect(await tab('review', '--type', 'n')).toEqual(['needs_work']);
  expect(await tab('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(await tab('config', 'set', 'x', '')).toEqual([]);
});

test('ids are those of a hub that is there; none is started to ask it', async () => {
  expect(await tab('show', '')).toEqual([]);
  expect(existsSync(squad.home)).toBe(false);
  const { squadId, runIds } = await squad.json<{ squadId: string; runIds: [string] }>([
    ...['run', '-d', 'coder', 'Say hello'],
  ]);
  expect(await tab('show', '')).toEqual(runIds);
  expect(await tab('show', 'run_')).toEqual(runIds);
  expect(await tab('wait', runIds[0], 'squad_')).toEqual([squadId]);
  await squad.run(['wait', squadId]);
  await squad.run(['hub', 'stop']);
  expect(await tab('show', '')).toEqual([]);
  expect((await squad.run(['hub', 'status'])).stdout).toContain('No hub is running');
});

test('roles, engines, clients, settings and pages are offered without a hub', async () => {
  squad.write('.squad/agents/scout.md', 'You look.');
  squad.write('.squad/squad.json', '{ "engines": { "mine": { "runTemplate": "echo" } } }');
  expect(await tab('run', '')).toEqual(['scout']);
  expect(await tab('run', 'scout', '')).toEqual([]);
  expect(await tab('run', 'scout', 'Look', 's')).toEqual(['scout']);
  expect(await tab('watch', '--only', '')).toEqual(['scout']);
  expect(await tab('context', '')).toEqual(['scout']);
  expect(await tab('retry', '--engine', 'c')).toEqual(['claude', 'codex', 'copilot', 'cursor']);
  expect(await tab('install', 'cl')).toContain('claude-code');
  expect(await tab('config', 'set', 'limits.d')).toEqual(['limits.depth']);
  expect(await tab('open', 'inb')).toEqual(['inbox']);
  expect((await squad.run(['hub', 'status'])).stdout).toContain('No hub is running');
});

test('says which shells there are, and what each evaluates', async () => {
  expect(await squad.run(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash, zsh, fish'),
  });
  for (const shell of ['zsh', 'fish'])
    expect((await squad.run(['completion', shell])).stdout).toContain('squad.cjs complete --');
});
