import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const PLAN = '# Plan\n\n## Iteration 1 (done)\n- [x] a\n\n## Iteration 2\n- [ ] b\n';

interface Preview {
  roleId: string | null;
  engine: string | null;
  notes: string[];
  context: {
    tokens: number;
    budgetTokens: number;
    parts: { file: string; how: string; tokens: number; cut: boolean }[];
    leftOut: { file: string; reason: string }[];
    text: string;
  } | null;
}

beforeAll(() => {
  squad.write('agents/plain.md', 'Plain.');
  squad.write('agents/knowing.md', '---\ncontext: true\n---\nKnowing.');
  squad.write('PLAN.md', PLAN);
  squad.write('CLAUDE.md', '# Rules\n\nBe kind.\n');
  squad.write('AGENTS.md', '# Rules\n\nBe kind.\n');
  squad.write('notes.md', `# Notes\n\n${'One more line of notes.\n'.repeat(2000)}`);
});
afterAll(() => squad[Symbol.asyncDispose]());

test('shows the parts with their size, what is left out and why, then the text', {
  tags: ['C6'],
}, async () => {
  const { code, stdout } = await squad.run(['context']);
  expect(code).toBe(0);
  const { context } = await squad.json<Preview>(['context']);
  const { parts, tokens, text } = context!;
  expect(stdout.split('\n')[0]).toBe(
    `${tokens} of 4000 tokens for a plain prompt of the spawn tools, engine scripted`,
  );
  expect(parts.map(part => [part.file, part.how])).toEqual([
    ['PLAN.md', 'current iteration'],
    ['CLAUDE.md', 'whole'],
  ]);
  for (const part of parts)
    expect(stdout).toMatch(new RegExp(`^${part.file} +${part.how} +${part.tokens}$`, 'm'));
  expect(stdout).toMatch(/\nLeft out\n {2}AGENTS\.md: .*CLAUDE\.md/);
  expect(stdout.endsWith(`\n\n${text}\n`)).toBe(true);
});

test('--text is to the byte what the next run is sent', { tags: ['C6'] }, async () => {
  const { stdout } = await squad.run(['context', 'knowing', '--text']);
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'knowing', 'Do it.']);
  const prompt = readFileSync(join(squad.home, 'runs', runIds[0]!, 'turn-1', 'prompt.md'), 'utf8');
  expect(prompt.startsWith(`${stdout.trimEnd()}\n\n---\n\nKnowing.`)).toBe(true);
  expect(stdout).toContain('### Iteration 2');
  await squad.run(['wait', runIds[0]!]);
});

test('a role that asks for no context gets none, and the output says how to ask for it', {
  tags: ['A12'],
}, async () => {
  expect(await squad.run(['context', 'plain'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^No context: the role plain does not ask for any.*\n.*`context: true`/),
  });
  expect(await squad.json(['context', 'plain'])).toMatchObject({ roleId: 'plain', context: null });
  expect((await squad.run(['context', 'plain', '--text'])).stdout).toBe('');
});

test('--files takes others, cut to the budget', async () => {
  const { context } = await squad.json<Preview>(['context', '--files', 'notes.md, PLAN.md']);
  expect(context!.parts.map(part => [part.file, part.cut])).toEqual([
    ['notes.md', true],
    ['PLAN.md', false],
  ]);
  expect(context!.tokens).toBeLessThanOrEqual(context!.budgetTokens);
  expect((await squad.run(['context', '--files', 'notes.md'])).stdout).toMatch(/^notes\.md .* cut to fit$/m);
});

test('a file that an engine reads by itself is left out for it', { tags: ['C6'] }, async () => {
  const claude = squad.script('bin/claude', "echo '2.1.325 (Claude Code)'");
  const env = { PATH: `${join(claude, '..')}:${squad.env.PATH}` };
  const { engine, context } = await squad.json<Preview>(['context', '--engine', 'claude'], { env });
  expect(engine).toBe('claude');
  expect(context!.leftOut.find(({ file }) => file === 'CLAUDE.md')?.reason).toMatch(/by itself|reads/);
});

test.each([
  ['an unknown role', ['nobody'], 'ROLE_UNKNOWN'],
  ['an unknown engine', ['--engine', 'nothing'], 'ENGINE_UNKNOWN'],
  ['a file that is not there', ['--files', 'PLAN.m'], 'CONTEXT_MISSING'],
  ['a file outside', ['--files', '../x.md'], 'CONTEXT_MISSING'],
  ['an empty name', ['--files', 'PLAN.md,'], 'INVALID_INPUT'],
])('%s is refused', async (_, words, code) => {
  expect(await squad.run(['context', ...words])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(`(${code})`),
  });
});

test('needs no engine: of an agent CLI that is not here it is known what it reads', async () => {
  const { engine, notes, context } = await squad.json<Preview>(['context', '--engine', 'codex']);
  expect(engine).toBe('codex');
  expect(notes).toEqual([expect.stringMatching(/^The program of Codex was not found.*would be refused/)]);
  expect(context!.leftOut).toContainEqual({
    file: 'AGENTS.md',
    reason: expect.stringContaining('by itself'),
  });

  await using bare = new TestSquad({ ENGINE_COMMAND: '' });
  bare.write('AGENTS.md', '# Rules\n');
  const { stdout, stderr } = await bare.run(['context']);
  expect(stdout).toMatch(/^\d+ of 4000 tokens for a plain prompt.*, no engine\n[\s\S]*AGENTS\.md +whole/);
  expect(stderr).toMatch(/^No engine is set .*nothing is left out as read by the engine itself\.\n$/);
});

test('an empty project has an empty context, and says so', async () => {
  await using empty = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  expect((await empty.run(['context'])).stdout).toMatch(
    /^0 of 4000 tokens .*\nThe workspace has none of PRD\.md/,
  );
});
