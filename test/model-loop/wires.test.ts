import { statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SIGNATURE } from '../engines/model-server/conversation.ts';
import { mock } from '../engines/model-server/script.ts';
import { KEY, TalkingAgent, WIRES } from './talking-agent.ts';
import { said, startToolEndpoint } from './tool-endpoint.ts';

const PATHS = {
  anthropic: '/v1/messages',
  openai: '/v1/chat/completions',
  responses: '/v1/responses',
  google: '/v1beta/models/model-1:streamGenerateContent',
};
const KEY_HEADERS = {
  anthropic: ['x-api-key', KEY],
  openai: ['authorization', `Bearer ${KEY}`],
  responses: ['authorization', `Bearer ${KEY}`],
  google: ['x-goog-api-key', KEY],
} as const;

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(WIRES)('%s', type => {
  test('a text answer; the key is sent where the provider expects it', { tags: ['E3'] }, async () => {
    await using agent = await TalkingAgent.start();
    const steps = mock([{ text: 'Grüße,\nthe answer 🙂', usage: { input: 100, output: 20, cached: 40 } }]);
    const { end, lines, messages, exit, stdout, stderr } = await agent.askProcess(type, `Say it ${steps}`, {
      systemPrompt: 'You are brief.',
      model: { headers: { 'x-team': 'blue' } },
    });
    expect(end).toMatchObject({ ok: true, answer: 'Grüße,\nthe answer 🙂', error: null });
    expect(exit).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).not.toContain(KEY);
    expect(lines[0]).toMatchObject({ type: 'start', model: 'model-1' });
    expect(lines.flatMap(line => (line.type === 'text' ? [line.text] : []))).toEqual([
      'Grüße,',
      'the answer 🙂',
    ]);
    expect(lines.findLast(line => line.type === 'usage')).toMatchObject({
      input: 100,
      output: 20,
      cached: 40,
      costUsd: null,
    });
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant']);
    expect(messages.map(({ parentId }) => parentId)).toEqual([null, messages[0]!.id, messages[1]!.id]);
    const [request] = agent.model.requests;
    expect(request).toMatchObject({ path: PATHS[type], system: expect.stringContaining('You are brief.') });
    const [header, value] = KEY_HEADERS[type];
    expect(request!.headers).toMatchObject({ [header]: value, 'x-team': 'blue' });
    expect(statSync(agent.chatFile).mode & 0o777).toBe(0o600);
  });

  test('without a key, none is sent', async () => {
    await using agent = await TalkingAgent.start();
    const { end } = await agent.ask(type, mock([{ text: 'hello' }]), {
      model: { apiKeyEnv: null, headers: { 'x-own': 'mine', 'x-lock': 'a-no-key' } },
    });
    expect(end).toMatchObject({ ok: true, answer: 'hello' });
    const { headers } = agent.model.requests[0]!;
    expect(headers).toMatchObject({ 'x-own': 'mine', 'x-lock': 'a-no-key' });
    for (const name of ['authorization', 'x-api-key', 'x-goog-api-key'])
      expect(headers).not.toHaveProperty(name);
  });

  test('tools of all list pages are called in parallel, and their results go back to the model', {
    tags: ['E3'],
  }, async () => {
    await using agent = await TalkingAgent.start();
    let release: (() => void) | undefined;
    const both = new Promise<void>(resolve => {
      release = resolve;
    });
    await using endpoint = await startToolEndpoint([
      // Answers only when the other was called as well: one after the other they would wait for ever.
      { name: 'first', answer: () => both.then(() => said('one')) },
      {
        name: 'second',
        inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        answer: ({ arguments: { n } }) => {
          release!();
          return said(`two ${n}`);
        },
      },
    ]);
    const steps = mock([
      {
        text: 'Both.',
        calls: [{ call: 'first' }, { call: 'second', arguments: { n: 7 } }],
        usage: { input: 10, output: 1 },
      },
      { text: 'done', usage: { input: 20, output: 2 } },
    ]);
    const { end, lines, messages } = await agent.ask(type, steps, { endpoint });
    expect(end).toMatchObject({ ok: true, answer: 'done' });
    expect(agent.model.requests[0]!.tools).toEqual(['first', 'second']);
    const results = agent.model.requests[1]!.toolResults;
    expect(results).toEqual([expect.stringContaining('one'), expect.stringContaining('two 7')]);
    expect(lines.findLast(line => line.type === 'usage')).toMatchObject({ input: 30, output: 3 });
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(messages[2]!.content).toEqual([
      { type: 'tool_result', id: expect.any(String), name: 'first', output: 'one', isError: false },
      { type: 'tool_result', id: expect.any(String), name: 'second', output: 'two 7', isError: false },
    ]);
    const ends = lines.filter(line => line.type === 'tool_end');
    expect(ends.map(({ name, ok }) => [name, ok]).sort()).toEqual([
      ['first', true],
      ['second', true],
    ]);
  });

  test('an unknown tool, invalid arguments and a failing tool are reported to the model, which continues', {
    tags: ['E10'],
  }, async () => {
    await using agent = await TalkingAgent.start();
    await using endpoint = await startToolEndpoint([
      { name: 'look', answer: () => ({ ...said('the disk is full'), isError: true }) },
    ]);
    const steps = mock([
      { invented: 'no_such_tool', arguments: { a: 1 } },
      { call: 'look', malformed: '{"half": tru' },
      { call: 'look' },
      { text: 'I see' },
    ]);
    const { end, messages, stderr } = await agent.ask(type, steps, { endpoint });
    expect(end).toMatchObject({ ok: true, answer: 'I see' });
    expect(endpoint.calls).toHaveLength(1);
    const results = messages.flatMap(({ content }) => content.filter(part => part.type === 'tool_result'));
    expect(results.map(({ name, isError }) => [name, isError])).toEqual([
      ['no_such_tool', true],
      ['look', true],
      ['look', true],
    ]);
    expect(String(results[0]!.output)).toContain('Available: look');
    expect(String(results[2]!.output)).toBe('the disk is full');
    const calls = messages.flatMap(({ content }) => content.filter(part => part.type === 'tool_call'));
    expect(calls[1]!.input).toBe('{"half": tru');
    expect(agent.model.requests.at(-1)!.toolResults.at(-1)).toContain('the disk is full');
    expect(stderr).toBe('');
  });

  test('final_answer ends the conversation with a value; together with other calls it is refused and they are run', {
    tags: ['E4'],
  }, async () => {
    await using agent = await TalkingAgent.start();
    await using endpoint = await startToolEndpoint([{ name: 'look', answer: () => said('seen') }]);
    const outputSchema = {
      type: 'object',
      properties: { verdict: { type: 'string' } },
      required: ['verdict'],
    };
    const final = (verdict: string) => ({ call: 'final_answer', arguments: { verdict } });
    const steps = mock([
      { calls: [{ call: 'look' }, final('too early')] },
      { calls: [final('this'), final('or that')] },
      final('fine'),
    ]);
    const { end, messages, lines } = await agent.ask(type, steps, { endpoint, outputSchema });
    expect(end).toMatchObject({ ok: true, answer: '', structured: { verdict: 'fine' } });
    expect(endpoint.calls).toHaveLength(1);
    const refused = { name: 'final_answer', isError: true, output: expect.stringContaining('only call') };
    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toMatchObject([
      [{ name: 'look', isError: false, output: 'seen' }, refused],
      [refused, refused],
      [{ name: 'final_answer', isError: false }],
    ]);
    const [, second, third] = agent.model.requests;
    expect(JSON.stringify(second!.toolResults)).toContain('seen');
    expect(JSON.stringify(second!.toolResults)).toContain('call it again, alone');
    expect(third).toBeDefined();
    const ends = lines.filter(line => line.type === 'tool_end');
    expect(ends.map(({ name, ok }) => [name, ok])).toEqual(
      expect.arrayContaining([
        ['look', true],
        ['final_answer', false],
      ]),
    );
  });

  test('final_answer together with other calls in the last model turn is no answer', async () => {
    await using agent = await TalkingAgent.start();
    await using endpoint = await startToolEndpoint([{ name: 'look', answer: () => said('seen') }]);
    const steps = mock([{ calls: [{ call: 'look' }, { call: 'final_answer', arguments: {} }] }]);
    const { end } = await agent.ask(type, steps, {
      ...{ endpoint, outputSchema: { type: 'object' }, maxTurns: 1 },
    });
    expect(end).toMatchObject({ ok: false, code: 'TURN_LIMIT' });
    expect(endpoint.calls).toEqual([]);
  });

  test('text instead of final_answer, or a final_answer that is not an object, is a mismatch', {
    tags: ['E4'],
  }, async () => {
    await using agent = await TalkingAgent.start();
    const outputSchema = { type: 'object', properties: { verdict: { type: 'string' } } };
    const words = await agent.ask(type, mock([{ text: '{"verdict":"fine"}' }]), { outputSchema });
    expect(words.end).toMatchObject({ ok: false, code: 'OUTPUT_MISMATCH' });
    expect(words.exit).toBe(1);
    const broken = mock([{ call: 'final_answer', malformed: '"fine' }]);
    expect((await agent.ask(type, broken, { outputSchema })).end).toMatchObject({
      ok: false,
      code: 'OUTPUT_MISMATCH',
    });
  });

  test('a model that never finishes is stopped, and its last calls are not run', {
    tags: ['E10'],
  }, async () => {
    await using agent = await TalkingAgent.start();
    await using endpoint = await startToolEndpoint([{ name: 'look', answer: () => said('seen') }]);
    const steps = mock(Array.from({ length: 9 }, () => ({ call: 'look' })));
    const { end } = await agent.ask(type, steps, { endpoint, maxTurns: 3 });
    expect(end).toMatchObject({
      ok: false,
      code: 'TURN_LIMIT',
      error: expect.stringContaining('3 model turns'),
    });
    expect(agent.model.requests).toHaveLength(3);
    expect(endpoint.calls).toHaveLength(2);
  });

  test('an image from a tool is sent to models that accept it, and described to others', async () => {
    await using agent = await TalkingAgent.start();
    const picture = { type: 'image', data: PNG, mimeType: 'image/png' };
    await using endpoint = await startToolEndpoint([
      { name: 'look', answer: () => ({ content: [{ type: 'text', text: 'Here:' }, picture] }) },
    ]);
    const { end, messages, stderr } = await agent.ask(type, mock([{ call: 'look' }, { text: 'seen' }]), {
      endpoint,
    });
    expect(end).toMatchObject({ ok: true, answer: 'seen' });
    const { body } = agent.model.requests[1]!;
    expect(body.includes(PNG)).toBe(type !== 'openai');
    if (type === 'openai') expect(body).toContain('[an image, image/png,');
    expect(messages[2]!.content[0]).toMatchObject({
      output: [
        { type: 'text', text: 'Here:' },
        { type: 'file', mediaType: 'image/png' },
      ],
    });
    expect(stderr).toBe('');
  });

  test('reasoning is in the conversation and goes back to the model with its signature', async () => {
    await using agent = await TalkingAgent.start();
    await using endpoint = await startToolEndpoint([{ name: 'look', answer: () => said('seen') }]);
    const steps = mock([
      { thinking: 'I had better look.', text: 'Looking.', call: 'look' },
      { text: 'done' },
    ]);
    const { end, messages } = await agent.ask(type, steps, {
      endpoint,
      model: { generation: { thinking: 'high', maxOutputTokens: 4096 } },
    });
    expect(end).toMatchObject({ ok: true, answer: 'done' });
    expect(messages[1]!.content).toMatchObject([
      { type: 'reasoning', text: 'I had better look.' },
      { type: 'text', text: 'Looking.' },
      { type: 'tool_call', name: 'look' },
    ]);
    expect(agent.model.requests[0]!.body).toMatch(/high|thinking/);
    // Chat completions have no signatures.
    expect(agent.model.requests[1]!.body.includes(SIGNATURE)).toBe(type !== 'openai');
  });

  test('a chat continues where it ended', { tags: ['E3'] }, async () => {
    await using agent = await TalkingAgent.start();
    await using endpoint = await startToolEndpoint([{ name: 'look', answer: () => said('seen') }]);
    const first = await agent.ask(type, `Remember blue ${mock([{ call: 'look' }, { text: 'noted' }])}`, {
      endpoint,
      systemPrompt: 'Be brief',
    });
    const later = await agent.ask(type, `Which was it? ${mock([{ text: 'blue' }])}`, {
      continues: true,
      systemPrompt: 'Be brief',
    });
    expect(later.end).toMatchObject({ ok: true, answer: 'blue' });
    expect(later.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(later.messages[0]!.parentId).toBe(first.messages.at(-1)!.id);
    const { turns, system } = agent.model.requests.at(-1)!;
    expect(turns[0]!.text).toContain('Remember blue');
    expect(turns.at(-1)!.text).toContain('Which was it?');
    expect(system).toContain('Be brief');
    expect(agent.chat().last).toBe(later.messages.at(-1)!.id);
  });
});
