import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import type { RawMcp } from '../../support/raw-mcp.ts';
import { until } from '../../support/squad.ts';
import { errorOf, ownServer, Subagents, said } from '../../support/subagents.ts';

const SCHEMA = {
  type: 'object',
  properties: { verdict: { type: 'string' }, score: { type: 'number' } },
  required: ['verdict', 'score'],
};

let subagents: Subagents;
let client: RawMcp;
beforeAll(async () => {
  subagents = await Subagents.start({ OWN_WORD: 'from the client' });
  await subagents.squad.unlimited();
  subagents.write('helper', { servers: { echo: ownServer('echo') } });
  subagents.write('judge', { schema: SCHEMA });
  client = await subagents.client('helper');
});
afterAll(() => subagents[Symbol.asyncDispose]());

describe('results for a client', () => {
  test('is one tool, named and described by the file, and nothing of the team', {
    tags: ['E1'],
  }, async () => {
    const { result } = await client.ask('tools/list');
    expect(result).toEqual({
      tools: [
        {
          name: 'helper',
          description: 'What helper does',
          inputSchema: {
            type: 'object',
            properties: {
              prompt: { type: 'string', description: expect.any(String) },
              inputs: {
                type: 'array',
                items: { type: 'string' },
                maxItems: 100,
                description: expect.any(String),
              },
            },
            required: ['prompt'],
            additionalProperties: false,
          },
          annotations: { readOnlyHint: false, openWorldHint: true },
        },
      ],
    });
    expect((await client.ask('resources/list')).error).toMatchObject({ code: -32601 });
    expect((await client.ask('prompts/list')).error).toMatchObject({ code: -32601 });
    expect((await client.ask('tools/call', { name: 'squad_status' })).error).toMatchObject({ code: -32602 });
  });

  test.each([false, true])('works for the official client, modern: %s', { tags: ['E1'] }, async modern => {
    const sdk = await subagents.sdk('judge', modern);
    const { tools } = await sdk.listTools();
    expect(tools).toMatchObject([{ name: 'judge', outputSchema: SCHEMA }]);
    const result = await sdk.callTool({
      name: 'judge',
      arguments: { prompt: mock([{ call: 'final_answer', arguments: { verdict: 'good', score: 3 } }]) },
    });
    expect(result.structuredContent).toEqual({ verdict: 'good', score: 3 });
    expect(result.content).toEqual([{ type: 'text', text: '{"verdict":"good","score":3}' }]);
  });

  describe('an answer is a success only if the official client, which checks it again, finds it sound', {
    tags: ['E4'],
  }, () => {
    const pair = [{ type: 'string', format: 'date' }, { type: 'number' }];
    test.each([
      ['draft07', { $schema: 'http://json-schema.org/draft-07/schema#' }, { items: pair }],
      ['draft2019', { $schema: 'https://json-schema.org/draft/2019-09/schema' }, { items: pair }],
      ['draft2020', { $schema: 'https://json-schema.org/draft/2020-12/schema' }, { prefixItems: pair }],
      ['no_draft', {}, { prefixItems: pair }],
    ])('%s', async (name, named, keywords) => {
      const properties = { pair: { type: 'array', ...keywords } };
      const schema = { ...named, type: 'object', properties, required: ['pair'] };
      subagents.write(name, { schema });
      const sdk = await subagents.sdk(name);
      expect((await sdk.listTools()).tools).toMatchObject([{ name, outputSchema: schema }]);
      const answered = (...given: unknown[]) => {
        const prompt = mock([{ call: 'final_answer', arguments: { pair: given } }]);
        return sdk.callTool({ name, arguments: { prompt } });
      };
      expect(await answered('2026-11-16', 1)).toMatchObject({
        structuredContent: { pair: ['2026-11-16', 1] },
      });
      const refused = await answered('today', 1);
      expect(refused).toMatchObject({ isError: true });
      expect(JSON.stringify(refused)).toMatch(/OUTPUT_MISMATCH.*must match format/);
      expect(JSON.stringify(await answered('2026-11-16', 'one'))).toMatch(/OUTPUT_MISMATCH.*must be number/);
    });
  });
});

describe('a call', () => {
  test('is the caller’s own words to the model, and the model’s last ones back', {
    tags: ['E1'],
  }, async () => {
    const prompt = `  /Say it.\n\nIn two lines. ${mock([{ text: 'one\n{"two": 2}\n' }], 'words')}\n`;
    expect(await said(client, client.call('helper', { prompt }))).toEqual({
      text: 'one\n{"two": 2}\n',
      isError: false,
    });
    expect(subagents.model.first('words')?.prompt).toBe(prompt);
  });

  test('has the servers of its file, in the folder and with the whole environment of the client', {
    tags: ['E1'],
  }, async () => {
    const prompt = mock(
      [{ call: 'about', arguments: { env: ['OWN_WORD', 'SQUAD_RUN_ID'] } }, { text: 'seen' }],
      'about',
    );
    expect(await said(client, client.call('helper', { prompt }))).toMatchObject({ text: 'seen' });
    const asked = await subagents.model.waitForRequest(({ tag, step }) => tag === 'about' && step === 1);
    const about = JSON.stringify(asked.toolResults);
    expect(about).toContain('from the client');
    expect(about).toContain(subagents.squad.workspace);
    expect(about).not.toContain('run_');
    expect(subagents.model.first('about')?.tools.sort()).toEqual(
      ['about', 'count', 'echo', 'progress'].map(tool => expect.stringMatching(new RegExp(`echo.*${tool}$`))),
    );
  });

  test.each(['/', 'the home'])('works where there is no project: in %s', async where => {
    const cwd = where === '/' ? '/' : subagents.squad.env.HOME!;
    const afar = await subagents.client('helper', { cwd });
    const tag = `afar-${where}`;
    await said(
      afar,
      afar.call('helper', { prompt: mock([{ call: 'about', arguments: {} }, { text: 'ok' }], tag) }),
    );
    const asked = await subagents.model.waitForRequest(call => call.tag === tag && call.step === 1);
    expect(asked.toolResults.map(result => JSON.parse(result).cwd)).toEqual([cwd]);
    const run = (await subagents.runs()).find(({ task }) => task.includes(tag));
    expect(run).toMatchObject({ status: 'completed', directory: cwd, workspace: subagents.squad.workspace });
    await afar.close();
  });

  test('is a run that people find, with its caller and its name', { tags: ['E1'] }, async () => {
    await said(client, client.call('helper', { prompt: `Look around\nand there ${mock([{ text: 'ok' }])}` }));
    const run = (await subagents.runs()).find(({ task }) => task.startsWith('Look around'))!;
    expect(run).toMatchObject({ status: 'completed', depth: 0, parentId: null });
    const told = async (...args: string[]) => (await subagents.squad.run(args)).stdout;
    expect(await told('ls')).toMatch(new RegExp(`${run.id} +done +helper +native .* Look around`));
    expect(await told('ls', '--need')).toMatch(new RegExp(`${run.id} +done +helper +native .* Look around`));
    const file = join(subagents.squad.workspace, 'helper.yaml');
    expect(await told('show', run.id)).toContain(`subagent  helper (${file})`);
    expect(await told('search', 'helper')).toContain(run.id);
    expect(await told('events', '--run', run.id)).toContain('subagent helper on native');
    expect(await told('complete', '--', 'show', run.id)).toContain('helper: Look around');
  });

  test('has its cost under its name, and what has no price says so', { tags: ['E1'] }, async () => {
    await said(client, client.call('helper', { prompt: mock([{ text: 'ok' }]) }));
    const { stdout } = await subagents.squad.run(['cost']);
    expect(stdout).toMatch(/^helper \(subagent\) +unknown/m);
    expect(stdout).toMatch(/the price list has no claude-test\./);
    expect(stdout).toContain(join(subagents.squad.home, 'prices.json'));
    expect(stdout).not.toContain('the engine did not say');
    const run = (await subagents.runs()).find(({ options }) => options.subagent === 'helper')!;
    const shown = await subagents.squad.run(['show', run.id]);
    expect(shown.stdout).toMatch(/cost unknown: the price list has no claude-test/);
  });

  test('shows nobody what its servers are set up with', async () => {
    subagents.write('keeper', {
      servers: { echo: { ...ownServer('echo'), env: { TOKEN: 'kept-in-the-file' } } },
    });
    const keeper = await subagents.client('keeper');
    await said(keeper, keeper.call('keeper', { prompt: mock([{ text: 'ok' }]) }));
    expect(JSON.stringify(await subagents.runs())).not.toContain('kept-in-the-file');
    await keeper.close();
  });

  test('can be continued by the user, with retry or reply', async () => {
    await said(client, client.call('helper', { prompt: `Again ${mock([{ text: 'first' }], 'again')}` }));
    const run = (await subagents.runs()).find(({ task }) => task.startsWith('Again'))!;
    const retried = await subagents.squad.run(['retry', run.id]);
    expect(retried).toMatchObject({ code: 0, stdout: expect.stringContaining('first') });
    const replied = await subagents.squad.run([
      'reply',
      run.id,
      `More ${mock([{ text: 'second' }], 'more')}`,
    ]);
    expect(replied).toMatchObject({ code: 0, stdout: expect.stringContaining('second') });
    expect(subagents.model.first('more')?.turns.length).toBeGreaterThan(2);
    // It still is what its file says: with its servers, and nothing of Squad's.
    expect(subagents.model.first('more')?.tools).toEqual(subagents.model.first('again')?.tools);
    const again = (await subagents.runs()).filter(({ task }) => task.startsWith('Again'));
    const labels = await subagents.squad.json<{ conversations: { label: string }[] }>([
      ...['conversation', 'list', '--subagent', 'helper'],
    ]);
    for (const { id } of again)
      expect(labels.conversations.map(({ label }) => label)).toContain(`subagent:helper:${id}`);
    expect(again.length).toBeGreaterThan(1);
  });

  test('runs beside others of the same client, each on its own', { tags: ['E1'] }, async () => {
    const asked = Array.from({ length: 8 }, (_, i) =>
      client.call('helper', {
        prompt: mock([{ call: 'echo', arguments: { nonce: `n${i}` } }, { text: `answer ${i}` }]),
      }),
    );
    const answers = await Promise.all(asked.map(id => said(client, id)));
    expect(answers.map(({ text }) => text)).toEqual(asked.map((_, i) => `answer ${i}`));
  });

  test('gives signs of life to a client that asks for them', async () => {
    const id = client.call('helper', { prompt: mock([{ text: 'ok' }]) }, { progressToken: 'p1' });
    await said(client, id);
    expect(client.notices('notifications/progress')[0]?.params).toMatchObject({
      progressToken: 'p1',
      progress: 0,
    });
  });

  test('that is taken back is stopped and gets no answer', async () => {
    const id = client.call('helper', { prompt: mock([{ hang: 'stream' }], 'taken-back') });
    await subagents.model.waitForRequest(({ tag }) => tag === 'taken-back');
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await until('the run is over', async () =>
      (await subagents.runs()).some(
        ({ task, status }) => task.includes('taken-back') && status === 'cancelled',
      ),
    );
    expect(client.answers(id)).toEqual([]);
  });
});

describe('a call that comes to nothing is an error with a code, a reason, a next step and the run', () => {
  test.each<{ what: string; steps: Parameters<typeof mock>[0]; code: string; next: RegExp }>([
    {
      what: 'a key that is refused',
      steps: [{ status: 401 }],
      code: 'ENGINE_NOT_LOGGED_IN',
      next: /MODEL_KEY/,
    },
    {
      what: 'too many requests',
      steps: [{ status: 429 }],
      code: 'ENGINE_RATE_LIMITED',
      next: /call it again/,
    },
    {
      what: 'a failing provider',
      steps: [{ status: 500 }],
      code: 'ENGINE_FAILED',
      next: /squad conversation print run_/,
    },
  ])('$what', async ({ steps, code, next }) => {
    const tag = `fails-${code}`;
    const error = await errorOf(client, client.call('helper', { prompt: mock(steps, tag) }));
    expect(error).toMatchObject({
      code,
      message: expect.any(String),
      details: { run_id: expect.stringMatching(/^run_/) },
    });
    expect(error.suggestions.join(' ')).toMatch(next);
    expect(JSON.stringify(error)).not.toMatch(/\bat .*\.(ts|js|cjs):\d/);
    // Nothing is tried again behind the caller's back.
    expect(subagents.model.requests.filter(request => request.tag === tag)).toHaveLength(1);
  });

  test('an answer that does not fit the schema', { tags: ['E4'] }, async () => {
    const judge = await subagents.client('judge');
    const prompt = mock([{ call: 'final_answer', arguments: { verdict: 'good', score: 'high' } }]);
    const { code, message } = await errorOf(judge, judge.call('judge', { prompt }));
    expect({ code, message }).toMatchObject({
      code: 'OUTPUT_MISMATCH',
      message: expect.stringContaining('score'),
    });
    await judge.close();
  });

  test('time that is up', { tags: ['E10'] }, async () => {
    subagents.write('hasty', { timeout: '1s' });
    const hasty = await subagents.client('hasty');
    const { code, suggestions } = await errorOf(
      hasty,
      hasty.call('hasty', { prompt: mock([{ hang: 'stream' }]) }),
    );
    expect(code).toBe('TIMEOUT');
    expect(suggestions[0]).toContain('hasty.yaml');
    await hasty.close();
  });

  test('time that is up while it waits for a place', async () => {
    const { squad, model } = subagents;
    await squad.json(['config', 'set', 'limits.concurrency', '1']);
    const first = client.call('helper', { prompt: mock([{ hang: 'stream' }], 'has-the-place') });
    await model.waitForRequest(({ tag }) => tag === 'has-the-place');
    subagents.write('waiting', { timeout: '1s' });
    const waiting = await subagents.client('waiting');
    const error = await errorOf(
      waiting,
      waiting.call('waiting', { prompt: mock([{ text: 'never' }], 'has-none') }),
    );
    expect(error).toMatchObject({
      code: 'TIMEOUT',
      message: 'waiting had not started within its time limit',
      details: { status: 'timeout' },
    });
    const { stdout } = await squad.run(['show', error.details!.run_id]);
    expect(stdout).toContain('timeout');
    expect(model.requests.filter(({ tag }) => tag === 'has-none')).toEqual([]);
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: first } });
    await squad.json(['config', 'unset', 'limits.concurrency']);
    await waiting.close();
  });

  test('a server of its file that is not there', async () => {
    subagents.write('lacking', { servers: { gone: { command: './no-such-program' } } });
    const lacking = await subagents.client('lacking');
    const { code, message, suggestions } = await errorOf(
      lacking,
      lacking.call('lacking', { prompt: mock([{ text: 'ok' }]) }),
    );
    expect(code).toBe('ENGINE_FAILED');
    expect(message).toMatch(/gone.*no-such-program.*Fix `mcpServers\.gone`/);
    // Nothing was said, so there is no conversation to look at.
    expect(suggestions).toEqual([expect.stringMatching(/squad log run_/)]);
    await lacking.close();
  });

  test('a name in disabledTools that its server does not have', async () => {
    const servers = { echo: { ...ownServer('echo'), disabledTools: ['cuont'] } };
    subagents.write('misspelt', { servers });
    const misspelt = await subagents.client('misspelt');
    const prompt = mock([{ text: 'ok' }], 'misspelt');
    const { code, message } = await errorOf(misspelt, misspelt.call('misspelt', { prompt }));
    expect(code).toBe('ENGINE_FAILED');
    expect(message).toMatch(
      /`mcpServers\.echo\.disabledTools`.*"cuont".*Its tools: about, count, echo, progress/,
    );
    expect(subagents.model.requests.filter(({ tag }) => tag === 'misspelt')).toEqual([]);
    await misspelt.close();
  });

  test('somebody who cancels its run is named', { tags: ['E10'] }, async () => {
    const id = client.call('helper', { prompt: mock([{ hang: 'stream' }], 'by-somebody') });
    await subagents.model.waitForRequest(({ tag }) => tag === 'by-somebody');
    const run = (await subagents.runs()).find(({ task }) => task.includes('by-somebody'));
    await subagents.squad.run(['cancel', run!.id]);
    expect(await errorOf(client, id)).toMatchObject({
      code: 'CANCELLED',
      message: 'helper was stopped before it was done: it was cancelled in a terminal (`squad cancel`)',
    });
    expect((await subagents.squad.run(['events', '--run', run!.id])).stdout).toContain('cancel, by terminal');
  });

  test.each([
    { args: {}, says: '"prompt" is missing; it must be text' },
    { args: { prompt: 7 }, says: '"prompt" must be text, not a number' },
    { args: { prompt: 'x', inputs: 'y' }, says: '"inputs" must be a list, not text' },
    { args: { prompt: 'x', inputs: [''] }, says: '"inputs[0]" must not be empty' },
    { args: { prompt: 'x', model: 'y' }, says: 'The input must not have "model"' },
    { args: { prompt: ' \n' }, says: '', code: 'TASK_EMPTY' },
  ])('input $args', async ({ args, says, code = 'INVALID_INPUT' }) => {
    const before = (await subagents.runs()).length;
    const error = await errorOf(client, client.call('helper', args));
    expect(error).toMatchObject({ code, message: expect.stringContaining(says) });
    expect(await subagents.runs()).toHaveLength(before);
  });
});
