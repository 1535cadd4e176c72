/** Every engine, end to end: an MCP client asks Squad, Squad runs the real CLI, the CLI asks the scripted model. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/operations/runs/run-result.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name]);
  });
  afterAll(() => it[Symbol.asyncDispose]());

  /** The error comes first: it says most about a run that went wrong. */
  const completed = (result: RunResult, expected: object) => {
    expect(result.error).toBeUndefined();
    expect(result).toMatchObject({ status: 'completed', success: true, ...expected });
  };
  const inWorkspace = (path: string) => join(it.squad.workspace, path);
  /** Usage that the model server counted, in the form of a result. */
  const counted = (tag: string) => {
    const { input, output, cached } = it.server.usage({ tag });
    return { input, output, cached };
  };

  test('answers, and its tokens are those the model counted', async () => {
    const usage = { input: 1200, output: 34, cached: 1000 };
    const result = await it.spawn(name, `Say hello. ${mock([{ text: 'Hello there.', usage }], 'answer')}`);
    completed(result, { result: 'Hello there.' });
    expect(result.tokens).toEqual(counted('answer'));
  });

  test('uses its shell, and Squad sees what it did', async () => {
    const steps = [{ text: 'Looking.', shell: 'echo made > made.txt' }, { text: 'Made it.' }];
    const result = await it.spawn(name, `Make it. ${mock(steps, 'tool')}`, { permission: 'edit' });
    completed(result, { result: 'Made it.', evidence: { tool_calls: 1 } });
    expect(readFileSync(inWorkspace('made.txt'), 'utf8')).toBe('made\n');
    expect(result.tokens).toEqual(counted('tool'));
  });

  test('resumes a chat, and counts only the new tokens', async () => {
    const first = await it.spawn(name, `Remember plums. ${mock([{ text: 'I will.' }], 'chat-1')}`);
    const second = await it.spawn(name, `What was it? ${mock([{ text: 'Plums.' }], 'chat-2')}`, {
      chatId: first.chat_id,
    });
    completed(second, { result: 'Plums.', chat_id: first.chat_id });
    const asked = it.server
      .first('chat-2')!
      .turns.map(({ text }) => text)
      .join('\n');
    expect(asked).toContain('Remember plums.');
    expect(asked).toContain('I will.');
    expect(second.tokens).toEqual(counted('chat-2'));
  });

  test('calls a tool of Squad and is known as its run', async () => {
    const steps = [{ call: 'squad_status', arguments: {} }, { text: 'Seen.' }];
    const result = await it.spawn(name, `Look. ${mock(steps, 'callback')}`);
    completed(result, { result: 'Seen.' });
    const last = it.server.requests.findLast(({ tag, step }) => tag === 'callback' && step === 1);
    expect(last?.toolResults.join('\n')).toContain(result.spawn_id);
  });

  test('does not see the spawn tools', async () => {
    await it.spawn(name, `Look. ${mock([{ text: 'Seen.' }], 'tools')}`);
    const { tools, turns } = it.server.first('tools')!;
    expect(tools).toContainEqual(expect.stringMatching(/squad_status$/));
    // Its own tools may be called so too; Squad's carry the server's name.
    expect(tools.filter(tool => /squad.*spawn_/.test(tool))).toEqual([]);
    expect(turns.map(({ text }) => text).join('\n')).not.toMatch(/mcp__squad__spawn_/);
  });

  test('is cancelled in the middle of a command, and nothing is left', async () => {
    // opencode says that it runs a command only in its log, which it writes a moment later.
    const steps = [{ shell: 'sleep 2; touch started; exec tail -f /dev/null' }];
    const { spawn_id } = await it.begin(name, `Wait. ${mock(steps, 'cancel')}`, { permission: 'edit' });
    await until('its command runs', () => existsSync(inWorkspace('started')), 60_000);
    expect(it.agents()).not.toEqual([]);
    await it.call('cancel_run', { spawn_id });
    expect(await it.end(spawn_id)).toMatchObject({
      ...{ status: 'cancelled', success: false },
      // The command that was running counts.
      evidence: { tool_calls: 1 },
    });
    await it.nothingLeft();
  });

  test('is cancelled while the model is silent', async () => {
    const { spawn_id } = await it.begin(name, `Wait. ${mock([{ hang: 'stream' }], 'hang')}`);
    await it.server.waitForRequest(({ tag }) => tag === 'hang', 60_000);
    await it.call('cancel_run', { spawn_id });
    expect(await it.end(spawn_id)).toMatchObject({ status: 'cancelled' });
    await it.nothingLeft();
  });

  test('gives an answer that fits a schema', async () => {
    const schema = {
      type: 'object',
      properties: { verdict: { type: 'string' } },
      required: ['verdict'],
      additionalProperties: false,
    };
    it.squad.write('schema.json', JSON.stringify(schema));
    const steps = [{ structured: { verdict: 'fine' } }];
    const result = await it.spawn(name, `Judge. ${mock(steps, 'schema')}`, {
      structured_output: 'schema.json',
    });
    completed(result, { structured: { verdict: 'fine' } });
  });

  test('an answer that does not fit its schema is an error that carries the text', async () => {
    it.squad.write('number.json', JSON.stringify({ type: 'object', required: ['bugs'] }));
    // Claude Code asks once more before it gives up.
    const steps = [{ text: 'I found two.' }, { text: 'I found two.' }, { text: 'I found two.' }];
    const result = await it.spawn(name, `Judge. ${mock(steps, 'unfit')}`, {
      structured_output: 'number.json',
    });
    expect(result).toMatchObject({
      status: 'error',
      result: 'I found two.',
      error: { code: 'OUTPUT_MISMATCH' },
    });
    expect(result.error?.message).toContain('I found two.');
  });

  test('gets a prompt of 200 KB whole', async () => {
    const long = 'All work and no play. '.repeat(9_400);
    const result = await it.spawn(name, `${long} THE END ${mock([{ text: 'Read.' }], 'long')}`);
    completed(result, { result: 'Read.' });
    expect(it.server.first('long')!.prompt).toContain(`${long} THE END`);
  });

  test('a key that is refused is reported as such', async () => {
    const result = await it.spawn(name, `Try. ${mock([{ status: 401 }], 'refused')}`);
    expect(result).toMatchObject({
      status: 'error',
      success: false,
      error: { code: 'ENGINE_NOT_LOGGED_IN' },
    });
  });

  test('an answer nobody can read is not taken for one', async () => {
    const result = await it.spawn(name, `Try. ${mock([{ garbage: true }], 'garbage')}`);
    expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'ENGINE_FAILED' } });
    await it.nothingLeft();
  });
});

test('several engines at once are kept apart', async () => {
  await using it = await EngineSquad.start(chosenClis());
  const results = await Promise.all(
    chosenClis().map(name => it.spawn(name, `Speak. ${mock([{ text: `I am ${name}.` }], name)}`)),
  );
  expect(results.map(({ result }) => result)).toEqual(chosenClis().map(name => `I am ${name}.`));
  for (const [index, name] of chosenClis().entries()) {
    const { input, output, cached } = it.server.usage({ tag: name });
    expect(results[index]!.tokens).toEqual({ input, output, cached });
  }
});
