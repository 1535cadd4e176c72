import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { descendantsOf } from '../../src/process/table/descendants.ts';
import { mock } from '../engines/model-server/script.ts';
import { TalkingAgent } from './talking-agent.ts';
import { said, startToolEndpoint } from './tool-endpoint.ts';

const CODE_MODE = { timeoutMs: 60_000, memoryMb: 256, outputChars: 10_000, excludedTools: ['plain'] };
const BUBBLEWRAP = '/usr/bin/bwrap';
const HAS_SANDBOX = process.platform === 'linux' && existsSync(BUBBLEWRAP);

const program = (text: string) => ({ call: 'run_program', arguments: { program: text } });

test.runIf(HAS_SANDBOX)('a program calls the tools as functions, many in one turn of the model', async () => {
  await using agent = await TalkingAgent.start();
  await using endpoint = await startToolEndpoint([
    {
      name: 'sums__add',
      description: 'Adds.',
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      answer: ({ arguments: { a, b } }) => ({
        content: [],
        structuredContent: { sum: Number(a) + Number(b) },
      }),
    },
    { name: 'broken', answer: () => ({ ...said('out of order'), isError: true }) },
    { name: 'plain', answer: () => said('by itself') },
  ]);
  const steps = mock([
    program(`
      const numbers = Array.from({ length: 20 }, (_, n) => n);
      const sums = await Promise.all(numbers.map(n => tools.sums__add({ a: n, b: 1 })));
      console.log('added', sums.length);
      try { await tools.broken({}); } catch (error) { console.log('caught', (error as Error).message); }
      return sums.reduce((total, { sum }) => total + sum, 0);
    `),
    program('throw new Error("on purpose")'),
    { call: 'run_program', arguments: {} },
    { call: 'plain' },
    {
      calls: [
        program('return await tools.sums__add({ a: 1, b: 1 })'),
        { call: 'final_answer', arguments: {} },
      ],
    },
    { call: 'final_answer', arguments: { total: 210 } },
  ]);
  const { end, messages } = await agent.askProcess('anthropic', steps, {
    endpoint,
    codeMode: CODE_MODE,
    outputSchema: { type: 'object', properties: { total: { type: 'number' } } },
  });
  expect(end).toMatchObject({ ok: true, structured: { total: 210 } });
  const { tools, body } = agent.model.requests[0]!;
  expect(tools).toEqual(['run_program', 'plain', 'final_answer']);
  expect(body).toContain('sums__add(input: sums__add_Input): Promise<sums__add_Output>');
  const results = messages
    .filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => content.filter(part => part.type === 'tool_result'));
  expect(results.map(({ name, isError }) => [name, isError])).toEqual([
    ['run_program', false],
    ['run_program', true],
    ['run_program', true],
    ['plain', false],
    ['run_program', false],
    ['final_answer', true],
    ['final_answer', false],
  ]);
  expect(results[0]!.output).toBe('added 20\ncaught out of order\nreturned: 210');
  expect(results[1]!.output).toContain('on purpose');
  expect(endpoint.calls.filter(({ name }) => name === 'sums__add')).toHaveLength(21);
});

test.runIf(HAS_SANDBOX)(
  'calls of a program are reported and stored below it, and are no part of the chat',
  async () => {
    await using agent = await TalkingAgent.start();
    await using endpoint = await startToolEndpoint([
      { name: 'look', answer: ({ arguments: { at } }) => said(`seen ${at}`) },
      { name: 'broken', answer: () => ({ ...said('out of order'), isError: true }) },
    ]);
    const steps = mock([
      program(`
      for (const at of [1, 2]) await tools.look({ at });
      await Promise.allSettled([tools.look({ at: 3 }), tools.broken({ why: 'so' })]);
    `),
      { text: 'done' },
    ]);
    const { lines, messages } = await agent.askProcess('anthropic', steps, { endpoint, codeMode: CODE_MODE });
    const main = messages.filter(({ role }) => role !== 'program');
    expect(main.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(main.map(({ parentId }) => parentId)).toEqual([null, ...main.slice(0, -1).map(({ id }) => id)]);
    const inside = messages.filter(({ role }) => role === 'program');
    const [run] = main[1]!.content.flatMap(part => (part.type === 'tool_call' ? [part.id] : []));
    for (const { parentId } of inside) expect(parentId).toBe(main[1]!.id);
    const parts = inside.flatMap(({ content }) => content);
    expect(parts.filter(({ type }) => type === 'tool_call')).toMatchObject([
      { id: `${run}.1`, name: 'look', input: { at: 1 }, within: run },
      { id: `${run}.2`, name: 'look', input: { at: 2 }, within: run },
      { id: `${run}.3`, name: 'look', input: { at: 3 }, within: run },
      { id: `${run}.4`, name: 'broken', input: { why: 'so' }, within: run },
    ]);
    const came = parts.flatMap(part =>
      part.type === 'tool_result' ? [[part.id, part.output, part.isError]] : [],
    );
    expect(came.toSorted()).toEqual([
      [`${run}.1`, 'seen 1', false],
      [`${run}.2`, 'seen 2', false],
      [`${run}.3`, 'seen 3', false],
      [`${run}.4`, 'out of order', true],
    ]);
    const toldOf = (type: string) => lines.filter(line => line.type === type);
    expect(toldOf('tool').map(line => 'name' in line && line.name)).toEqual([
      ...['run_program', 'look', 'look', 'look', 'broken'],
    ]);
    expect(toldOf('tool_end').filter(line => 'ok' in line && !line.ok)).toMatchObject([{ name: 'broken' }]);
    expect(toldOf('tool_end')).toHaveLength(5);
    expect(JSON.stringify(agent.chat())).not.toContain('seen 1');
    expect(agent.model.requests[1]!.toolResults).toHaveLength(1);
  },
);

test.runIf(HAS_SANDBOX)('told to stop while a program runs, it stops with it', async () => {
  await using agent = await TalkingAgent.start();
  let called: (() => void) | undefined;
  const calling = new Promise<void>(resolve => {
    called = resolve;
  });
  await using endpoint = await startToolEndpoint([{ name: 'slow', answer: () => void called!() }]);
  const steps = mock([program('await tools.slow({})')]);
  const { child, ended } = agent.begin('anthropic', steps, { endpoint, codeMode: CODE_MODE });
  await calling;
  child.kill('SIGTERM');
  const { end, messages } = await ended;
  expect(end).toMatchObject({ ok: false, error: 'Stopped by SIGTERM' });
  const parts = messages.filter(({ role }) => role === 'program').flatMap(({ content }) => content);
  expect(parts).toMatchObject([
    { type: 'tool_call', name: 'slow' },
    { type: 'tool_result', name: 'slow', isError: true, output: expect.stringContaining('Cancelled') },
  ]);
  await expect.poll(() => endpoint.dropped).toEqual(['slow']);
});

test('without a sandbox the error says what to install, and the model is not asked', async () => {
  await using agent = await TalkingAgent.start();
  const { end } = await agent.askProcess('anthropic', 'hello', {
    codeMode: CODE_MODE,
    env: { PATH: '/nowhere' },
  });
  expect(end).toMatchObject({
    ok: false,
    code: 'SANDBOX_MISSING',
    error: expect.stringMatching(/bubblewrap|Linux/),
  });
  expect(agent.model.requests).toEqual([]);
});

describe.runIf(HAS_SANDBOX)('the sandbox that is started while the model is waited for', () => {
  test('starts before the model answers, and ends when the agent is stopped', async () => {
    await using agent = await TalkingAgent.start();
    const sandbox = tellingSandbox(agent);
    const { child, ended } = agent.begin('anthropic', mock([{ hang: 'headers' }]), {
      codeMode: CODE_MODE,
      env: sandbox.env,
    });
    await agent.model.waitForRequest(() => true);
    // The script around it, bubblewrap itself, and the guest; the first sandbox was the proof.
    await expect.poll(() => sandbox.started().length).toBe(2);
    const below = () => descendantsOf(Number(sandbox.started()[1])).length;
    await expect.poll(below).toBe(2);
    child.kill('SIGTERM');
    expect((await ended).end).toMatchObject({ ok: false, error: 'Stopped by SIGTERM' });
    expect(sandbox.left()).toEqual([]);
  });

  test.each([
    ['an answer', { text: 'no program was needed' }, true],
    ['a refusal of the provider', { status: 401 }, false],
    ['an answer that breaks off', { cut: 'connection' }, false],
  ] as const)('ends before the agent, after %s', async (_, step, ok) => {
    await using agent = await TalkingAgent.start();
    const sandbox = tellingSandbox(agent);
    const { end } = await agent.askProcess('anthropic', mock([step]), {
      codeMode: CODE_MODE,
      env: sandbox.env,
    });
    expect(end).toMatchObject({ ok });
    expect(sandbox.left()).toEqual([]);
  });

  test('is not started for the last model turn', async () => {
    await using agent = await TalkingAgent.start();
    const sandbox = tellingSandbox(agent);
    const { child, ended } = agent.begin('anthropic', mock([{ hang: 'headers' }]), {
      codeMode: CODE_MODE,
      env: sandbox.env,
      maxTurns: 1,
    });
    await agent.model.waitForRequest(() => true);
    child.kill('SIGTERM');
    await ended;
    // The one that proved that there is a sandbox.
    expect(sandbox.started()).toHaveLength(1);
    expect(sandbox.left()).toEqual([]);
  });
});

/** A bubblewrap in a script that tells which processes it was. */
function tellingSandbox({ folder }: TalkingAgent) {
  const path = join(folder, 'bin');
  mkdirSync(path);
  const file = (name: string) => join(folder, name);
  const script = `#!/bin/sh
echo $$ >> '${file('pids')}'
${BUBBLEWRAP} "$@"
exit $?
`;
  writeFileSync(join(path, 'bwrap'), script, { mode: 0o755 });
  const lines = (name: string) => readFileSync(file(name), 'utf8').trim().split('\n');
  return {
    env: { PATH: path },
    started: () => lines('pids'),
    left: () => lines('pids').filter(pid => existsSync(`/proc/${pid}`)),
  };
}
