import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive, TestSquad, until } from '../../support/squad.ts';
import { footprint, storedEvents } from '../../support/stored.ts';
import { type Member, type Refused, startAndWait, strictCall, wholeStream } from '../../support/tools.ts';

const squad = new TestSquad();
let client: Client;

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
  client = await squad.client({ env: { ENGINE_COMMAND: 'scripted' } });
});
afterAll(() => squad[Symbol.asyncDispose]());

const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;

async function follow(script: string, on = client): Promise<Member> {
  const { members } = await startAndWait(on, { members: [{ roleId: 'coder', task: fenced(script) }] });
  return members[0]!;
}

const inWorkspace = (name: string) => readFileSync(join(squad.workspace, name), 'utf8');

describe('a script', () => {
  test('says, and what it said is its answer unless it reports', async () => {
    expect(await follow('say one\nsay two\n| and more')).toMatchObject({
      engine: 'scripted',
      status: 'completed',
      rawStdout: 'one\ntwo\nand more',
    });
    expect(await follow('say one\nreport Only this.')).toMatchObject({ rawStdout: 'Only this.' });
  });

  test('writes and appends to files, in folders that were not there', async () => {
    await follow('write deep/er/a.txt\n| first\n|   second\nappend deep/er/a.txt\n| third');
    expect(inWorkspace('deep/er/a.txt')).toBe('first\n  second\nthird\n');
  });

  test('runs commands and fails with them, or tries and goes on', async () => {
    expect(await follow('run echo hi; echo there')).toMatchObject({
      status: 'completed',
      rawStdout: '$ echo hi; echo there\nhi\nthere',
    });
    expect(await follow('run exit 3\nsay never')).toMatchObject({
      status: 'error',
      error: { code: 'ENGINE_FAILED', message: '"exit 3" failed with exit code 3' },
    });
    expect(await follow('try exit 3\nsay after all')).toMatchObject({
      status: 'completed',
      rawStdout: '$ exit 3\n\n(exit code 3)\nafter all',
    });
  });

  test('sleeps, waits for a file, and speaks on standard error', async () => {
    expect(await follow('sleep 1ms\nstderr a warning\nwrite here\n| x\nawait here\nsay done')).toMatchObject({
      status: 'completed',
      rawStdout: 'done',
      rawStderr: 'a warning\n',
    });
  });

  test('floods as much as the script says, and its answer is still what it said', async () => {
    const member = await follow('flood 2MB\nsay quiet again');
    expect(member).toMatchObject({ status: 'completed', rawStdout: 'quiet again' });
    const { files } = await squad.json<{ files: { stdoutBytes: number } }>(['show', member.memberId]);
    expect(files.stdoutBytes).toBeGreaterThan(2 * 1024 ** 2);
  });

  test('fails with its own words, exits without any, and neither counts as done', async () => {
    expect(await follow('say tried\nfail the tests are red')).toMatchObject({
      status: 'error',
      rawStdout: 'tried',
      error: { code: 'ENGINE_FAILED', message: 'the tests are red' },
    });
    for (const code of [0, 5])
      expect(await follow(`say x\nexit ${code}`)).toMatchObject({
        status: 'error',
        error: {
          message: `The engine ended without reporting a result (exit code ${code}), so the run counts as failed.`,
        },
      });
  });

  test('that fails with a novel is quoted, not stored whole', async () => {
    const member = await follow(`fail ${'because '.repeat(5000)}`);
    expect(member.error!.message.length).toBeLessThanOrEqual(500);
    const { run } = await squad.json<{ run: { error: { message: string } } }>(['show', member.memberId]);
    expect(run.error.message).toMatch(/^because .*…$/);
    expect(run.error.message.length).toBeLessThan(2500);
  });

  test('hangs deaf until its time is up', async () => {
    const hasty = await squad.client({ env: { ENGINE_COMMAND: 'scripted', PROCESS_TIMEOUT_MS: '800' } });
    expect(await follow('deafen\nsay waiting\nhang', hasty)).toMatchObject({ status: 'timeout' });
  });

  test('leaves a process behind, which is found', async () => {
    const member = await follow(
      'leave echo $$ >left.pid; exec sleep 300\nawait left.pid\nsleep 50ms\nsay gone',
    );
    expect(member.status).toBe('completed');
    expect(await strictCall(client, 'get_result', { spawn_id: member.memberId })).toMatchObject({
      evidence: { leftovers_killed: 1 },
    });
    await until('it is gone', () => !isAlive(Number(inWorkspace('left.pid'))));
  });

  test('in a role is followed when the task has none', async () => {
    squad.write('roles/robot.md', `You are a robot.\n${fenced('say beep')}`);
    const on = await squad.client({ env: { ENGINE_COMMAND: 'scripted', SQUAD_AGENTS_DIR: 'roles' } });
    const { members } = await startAndWait(on, {
      members: [
        { roleId: 'robot', task: 'Beep.' },
        { roleId: 'robot', task: fenced('say boop') },
      ],
    });
    expect(members.map(member => member.rawStdout)).toEqual(['beep', 'boop']);
  });

  test('that is missing makes a dry run that says what it was handed and that no model was called', {
    tags: ['F7'],
  }, async () => {
    const { members } = await startAndWait(client, { members: [{ roleId: 'planner', task: 'Plan it.' }] });
    expect(members[0]).toMatchObject({ status: 'completed' });
    expect(members[0]!.rawStdout).toMatch(
      /^Scripted agent, no model was called\. Role planner, a prompt of \d+ bytes, folder /,
    );
    expect(members[0]!.rawStdout).toContain(squad.workspace);
    const bare = await strictCall<{ result: string }>(client, 'spawn_agent', { prompt: 'Plan it.' });
    expect(bare.result).toMatch(/^Scripted agent, no model was called\. No role, a prompt of /);
  });

  test.each([
    ['an unknown verb', 'say a\ndance b', 'Line 2 of the script: there is no verb "dance"'],
    ['a body without a verb', '| lost', 'Line 1 of the script: a | line needs a verb above it'],
    ['a time that is none', 'sleep soon', 'Line 1 of the script: sleep needs a duration or a size'],
    ['a size that is none', 'flood', 'Line 1 of the script: flood needs a duration or a size'],
    ['no file to write', 'write', 'Line 1 of the script: write needs something after it'],
    ['an exit code that is none', 'exit badly', 'Line 1 of the script: exit needs an exit code'],
    ['figures that are none', 'usage lots', 'Line 1 of the script: usage needs INPUT OUTPUT'],
    ['a name every object has', 'constructor x', 'there is no verb "constructor"'],
  ])('with %s refuses the call', async (_, script, message) => {
    await refusedScript(fenced(script), message);
  });

  test('that is never closed refuses the call', async () => {
    await refusedScript('x\n```script\nsay a', 'A ```script block is never closed');
  });
});

describe('a replay of a recorded run', () => {
  test('gives the same result, with the pauses the recording had', { tags: ['F7'] }, async () => {
    const recorded = await follow('say one\nsleep 400ms\nusage 10 20 30 0.5\nreport The end.');
    const { files } = await squad.json<{ files: { stdout: string } }>(['show', recorded.memberId]);
    copyFileSync(files.stdout, join(squad.workspace, 'recorded.jsonl'));
    const replayed = await follow('replay recorded.jsonl');
    expect(replayed).toMatchObject({ status: 'completed', rawStdout: 'The end.' });
    expect(await strictCall(client, 'get_result', { spawn_id: replayed.memberId })).toMatchObject({
      tokens: { input: 10, output: 20, cached: 30 },
      cost_usd: 0.5,
    });
    const output = await wholeStream(client, replayed.memberId, 'stdout');
    expect(output.endsWith(inWorkspace('recorded.jsonl'))).toBe(true);
    const took = (await storedEvents(squad)).find(
      event => event.run_id === replayed.memberId && event.type === 'run.ended',
    )!.data.durationMs;
    // Not a measure of speed: a replay that does not wait at all would be done long before.
    expect(took).toBeGreaterThanOrEqual(400);
  });

  test('of a failed run fails the same way', async () => {
    const recorded = await follow('say one\nfail no luck');
    const { files } = await squad.json<{ files: { stdout: string } }>(['show', recorded.memberId]);
    copyFileSync(files.stdout, join(squad.workspace, 'failed.jsonl'));
    expect(await follow('replay failed.jsonl')).toMatchObject({
      status: 'error',
      error: { code: 'ENGINE_FAILED', message: 'no luck' },
    });
  });

  test('of a recording that breaks off continues with the script, and a missing recording fails', async () => {
    squad.write('half.jsonl', 'plain words\n{"at":1,"type":"text","text":"said before"}\n');
    expect(await follow('replay half.jsonl\nsay and on')).toMatchObject({
      status: 'completed',
      rawStdout: 'and on',
    });
    expect(await follow('replay none.jsonl')).toMatchObject({
      status: 'error',
      error: { message: expect.stringContaining('none.jsonl') },
    });
  });
});

async function refusedScript(task: string, message: string): Promise<void> {
  const before = await footprint(squad);
  const refused = await strictCall<Refused>(client, 'start_squad_members', {
    members: [{ roleId: 'coder', task }],
  });
  expect(refused.error).toMatchObject({ code: 'SCRIPT_INVALID', message: expect.stringContaining(message) });
  expect(await footprint(squad)).toEqual(before);
}
