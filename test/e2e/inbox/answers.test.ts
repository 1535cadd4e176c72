import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestSquad, until } from '../../support/squad.ts';
import { type Refused, startAndWait, strictCall } from '../../support/tools.ts';

const squad = new TestSquad({ SQUAD_AGENTS_DIR: 'roles', ENGINE_COMMAND: 'scripted' });

beforeAll(async () => {
  squad.write(
    'bugs.schema.json',
    '{"type":"object","properties":{"bugs":{"type":"number"}},"required":["bugs"]}',
  );
  squad.write('broken.schema.json', '{"type":"objekt"}');
  squad.write('roles/reviewer.md', '---\noutput_schema: bugs.schema.json\n---\nYou review.');
  squad.write('roles/broken.md', '---\noutput_schema: broken.schema.json\n---\nYou review.');
  squad.write('roles/missing.md', '---\noutput_schema: nonesuch.json\n---\nYou review.');
  squad.write('roles/outside.md', '---\noutput_schema: ../outside.json\n---\nYou review.');
  squad.write('../outside.json', '{}');
  squad.write('endless.schema.json', '{"$ref":"#"}');
  squad.write('slow.schema.json', '{"properties":{"s":{"type":"string","pattern":"^(a+)+$"}}}');
  for (const name of ['endless', 'slow'])
    squad.write(`roles/${name}.md`, `---\noutput_schema: ${name}.schema.json\n---\nYou review.`);
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const script = (...lines: string[]) => `\n\`\`\`script\n${lines.join('\n')}\n\`\`\``;
const one = (roleId: string, ...lines: string[]) => ({ members: [{ roleId, task: script(...lines) }] });

describe('an answer with a schema', () => {
  test('is a value when it keeps to it, which is backed by more than words', async () => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one('reviewer', 'report {"bugs": 2}'));
    expect(members[0]!.status).toBe('completed');
    const result = await strictCall(client, 'get_result', { spawn_id: members[0]!.memberId });
    expect(result).toMatchObject({
      success: true,
      structured: { bugs: 2 },
      evidence: { verdict: 'verified' },
    });
  });

  test('is an error that carries the text when it does not', { tags: ['A12'] }, async () => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one('reviewer', 'report I found two bugs.'));
    expect(members[0]).toMatchObject({
      status: 'error',
      rawStdout: 'I found two bugs.',
      error: { code: 'OUTPUT_MISMATCH', message: expect.stringContaining('I found two bugs.') },
    });
  });

  test('is asked for in the prompt of an engine that cannot be held to it', async () => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one('reviewer', 'report {"bugs": 0}'));
    const prompt = readFileSync(
      join(squad.home, 'runs', members[0]!.memberId, 'turn-1', 'prompt.md'),
      'utf8',
    );
    expect(prompt).toContain('# Answer Format');
    expect(prompt.indexOf('# Answer Format')).toBeLessThan(prompt.indexOf('# Setup & Reporting Rules'));
  });

  test.each([
    ['a schema that refers only to itself', 'endless', '{}'],
    ['a pattern that takes for ever', 'slow', `{"s":"${'a'.repeat(40)}!"}`],
  ])('that cannot be checked ends the run all the same: %s', async (_, roleId, answer) => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one(roleId, `report ${answer}`));
    expect(members[0]).toMatchObject({
      status: 'error',
      rawStdout: answer,
      error: { code: 'OUTPUT_MISMATCH', message: expect.stringContaining('could not be checked') },
    });
  });

  test.each([
    ['broken', 'is not a JSON Schema'],
    ['missing', 'does not exist'],
    ['outside', 'lies outside the workspace'],
  ])('that cannot be used refuses the call: %s', async (roleId, why) => {
    const client = await squad.client();
    const refused = await strictCall<Refused>(client, 'start_squad_members', one(roleId, 'say x'));
    expect(refused.error).toMatchObject({ code: 'SCHEMA_INVALID', message: expect.stringContaining(why) });
  });
});

test('a run that is stopped gives what it had said, not the lines its engine prints', async () => {
  const client = await squad.client();
  squad.write('roles/coder.md', 'You code.');
  const [silent, talkative] = await Promise.all(
    [['hang'], ['say I am half-way.', 'hang']].map(async lines => {
      const { spawn_id } = await strictCall<{ spawn_id: string }>(client, 'spawn_agent', {
        prompt: script(...lines),
        async: true,
      });
      await until('it is running', async () => {
        const { activity, status } = await strictCall(client, 'get_result', { spawn_id });
        return status === 'running' && (lines.length === 1 || String(activity).includes('half-way'));
      });
      await strictCall(client, 'cancel_run', { spawn_id });
      return strictCall(client, 'get_result', { spawn_id, wait_seconds: 90 });
    }),
  );
  expect(silent).toMatchObject({ status: 'cancelled', result: '', evidence: { verdict: 'empty' } });
  expect(talkative).toMatchObject({
    status: 'cancelled',
    result: 'I am half-way.',
    evidence: { verdict: 'claimed' },
  });
});

test("the user's own command runs when a run has ended, with the facts on its input", {
  tags: ['C4'],
}, async () => {
  const hook = squad.script('hook.sh', 'cat > "facts-$SQUAD_HOOK_STATUS.json"');
  await using other = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const config = join(other.env.HOME!, '.config', 'squad', 'config.json');
  mkdirSync(join(config, '..'), { recursive: true });
  writeFileSync(config, JSON.stringify({ onEnd: [hook] }));
  await other.run(['run', 'coder', script('fail on purpose')]);
  const facts = join(other.workspace, 'facts-error.json');
  await until('the hook has written', () => existsSync(facts) && readFileSync(facts, 'utf8'));
  expect(JSON.parse(readFileSync(facts, 'utf8'))).toMatchObject({
    status: 'error',
    role_id: 'coder',
    error: { code: 'ENGINE_FAILED', message: 'on purpose' },
  });
});
