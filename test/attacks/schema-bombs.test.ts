import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { structuredAnswer } from '../../src/core/output/structured-answer.ts';
import type { JsonSchema } from '../../src/schema/run.ts';
import { figure } from '../faults/figures.ts';
import { echoBlock } from '../servers/start.ts';
import { TestSquad, until } from '../support/squad.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { ENDLESS_INPUTS, EVIL_PATTERNS, schemaBombs } from './corpus/patterns.ts';
import { Recorded, toolNamed } from './recorded.ts';

const squad = new TestSquad();
const fetched: string[] = [];
let listener: Server;
let kept: Recorded;
let agent: Agent;
let honest: Agent;
let bombs: object[];

beforeAll(async () => {
  listener = createServer((request, response) => {
    fetched.push(request.url!);
    response.end('{}');
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  bombs = schemaBombs(`http://127.0.0.1:${(listener.address() as { port: number }).port}`);
  kept = new Recorded(squad.root, 'kept', {
    tools: bombs.map((inputSchema, at) =>
      toolNamed(`bomb-${at}`, { inputSchema, outputSchema: inputSchema }),
    ),
    says: '{"a":"x"}',
  });
  squad.write(
    '.squad/decisions.md',
    ENDLESS_INPUTS.map(
      (text, at) => `### 2026-01-0${at + 1}: ${text.slice(0, 100)}\n**What:** ${text}\n`,
    ).join('\n'),
  );
  await squad.unlimited();
  await configure(squad, {
    servers: { kept: kept.block(), good: echoBlock({ tools: ['echo'] }) },
    agentServers: { coder: ['kept'], reviewer: ['good'] },
    argumentRules: [
      {
        server: 'kept',
        argument: 'a',
        deny: [...EVIL_PATTERNS, '*a*a*a*a*a*a*a*a*a*b', `${'*'.repeat(200)}!`],
      },
      { server: 'kept', argument: 'b', deny: ['*x*x*x*x*x*x*x*x*x*x*y'], maxLength: 100_000 },
    ],
  });
  [agent, honest] = (await startAgents(squad, 'coder', 'reviewer')) as [Agent, Agent];
  await until('they are listed', async () => (await agent.theirs()).length > 60);
  await honest.sees('good__echo');
});
afterAll(async () => {
  listener.close();
  await squad[Symbol.asyncDispose]();
});

/** The other agent is served all the while: nothing holds the hub up. */
async function meanwhile<T>(work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const working = work().finally(() => {
    isOver = true;
  });
  for (let calls = 0; !isOver || calls < 3; calls++) {
    const { message } = await honest.call('good__echo', { nonce: `n${calls}` });
    expect(message.result?.content).toEqual([{ type: 'text', text: `n${calls}` }]);
  }
  return working;
}

test('there are more than sixty schemas and patterns that do not come to an end', { tags: ['R28'] }, () => {
  expect(bombs.length).toBeGreaterThan(60);
  expect(new Set(EVIL_PATTERNS).size).toBeGreaterThanOrEqual(60);
  figure('R28', {
    reached: new Set(EVIL_PATTERNS).size,
    of: 60,
    told: `endless patterns and ${bombs.length} schemas, none kept the hub from answering`,
  });
});

test('tools with such schemas are listed, and called with texts that their patterns choke on', {
  tags: ['schema-bombs-and-patterns-that-never-end'],
}, async () => {
  const names = await agent.theirs();
  const before = kept.asked().length;
  await meanwhile(async () => {
    for (const [at, name] of names.entries()) {
      const text = ENDLESS_INPUTS[at % ENDLESS_INPUTS.length]!;
      const { message } = await agent.call(name, { c: text, bomb: { [text]: text } });
      expect([name, message.result?.isError]).toEqual([name, undefined]);
    }
  });
  expect(kept.asked()).toHaveLength(before + names.length);
});

test('rules on arguments are done with on any text', {
  tags: ['schema-bombs-and-patterns-that-never-end'],
}, async () => {
  const [name] = await agent.theirs();
  await meanwhile(async () => {
    for (const text of ENDLESS_INPUTS)
      for (const argument of ['a', 'b'])
        expect((await agent.call(name!, { [argument]: text })).message.result).toBeDefined();
  });
});

test('searching decisions takes any words for words', {
  tags: ['schema-bombs-and-patterns-that-never-end'],
}, async () => {
  const queries = [
    ...[...EVIL_PATTERNS, ...ENDLESS_INPUTS].map(text => text.slice(0, 900)),
    ...[
      '"',
      '""',
      '" OR "',
      'a* b* NEAR(c d, 9999999)',
      '{title} : x',
      '-',
      'NOT',
      'a AND',
      '^x',
      'x'.repeat(500),
      '* '.repeat(300),
      "'; DROP TABLE decisions; --",
    ],
  ];
  await meanwhile(async () => {
    for (const query of queries) {
      const { status, message } = await agent.call('squad_decision_search', { query });
      expect([query.slice(0, 40), status, message.error]).toEqual([query.slice(0, 40), 200, undefined]);
    }
  });
});

describe('an answer that has to keep to a schema', () => {
  test('is given up when checking it does not end', {
    tags: ['schema-bombs-and-patterns-that-never-end'],
  }, async () => {
    const schema: JsonSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    const answer = await structuredAnswer(schema, JSON.stringify({ a: `${'a'.repeat(5_000)}!` }), undefined);
    expect(answer).toMatchObject({
      error: { code: 'OUTPUT_MISMATCH', message: expect.stringContaining('takes too long') },
    });
  });
});

test('no schema elsewhere is ever requested', {
  tags: ['schema-bombs-and-patterns-that-never-end'],
}, async () => {
  expect((await agent.theirs()).length).toBeGreaterThan(60);
  expect((await squad.run(['mcp', 'tools', '--role', 'coder'])).code).toBe(0);
  expect(fetched).toEqual([]);
});
