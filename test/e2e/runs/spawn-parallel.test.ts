import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, TestSquad, until } from '../../support/squad.ts';
import { RESULT_LIMIT, type Refused, type Squad, strictCall } from '../../support/tools.ts';

interface Parallel {
  squad_id: string;
  results: {
    spawn_id: string;
    status: string;
    result?: string | null;
    truncated?: boolean;
    output_file?: string;
  }[];
  aggregate?: { text: string; [figure: string]: unknown };
  note?: string;
  isError?: boolean;
}

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const script = (lines: string) => `Do it.\n\`\`\`script\n${lines}\n\`\`\``;
const agent = (lines: string, more: object = {}) => ({ prompt: script(lines), ...more });

beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

describe.each([
  { era: 'legacy', modern: false },
  { era: 'modern', modern: true },
])('spawn_parallel in the $era era', ({ modern }) => {
  const open = (): Promise<Client> => squad.client({ modern });

  test('returns the result of each, in the order they were asked for', { tags: ['C5'] }, async () => {
    const { squad_id, results, aggregate } = await strictCall<Parallel>(await open(), 'spawn_parallel', {
      agents: [agent('sleep 200ms\nreport first'), agent('fail no'), agent('report third')],
    });
    expect(squad_id).toMatch(/^squad_/);
    expect(results.map(({ status, result }) => [status, result])).toEqual([
      ['completed', 'first'],
      ['error', ''],
      ['completed', 'third'],
    ]);
    expect(aggregate).toBeUndefined();
  });

  test('sums them up when asked to, and says for how many nothing was reported', {
    tags: ['C5'],
  }, async () => {
    const { aggregate } = await strictCall<Parallel>(await open(), 'spawn_parallel', {
      aggregate_results: true,
      agents: [
        agent('usage 10 1 0 0.1\nreport one', { task_summary: 'First' }),
        agent('usage 20 2 0 0.2\nreport two'),
        agent('fail never'),
      ],
    });
    expect(aggregate).toMatchObject({
      ok: 2,
      failed: 1,
      duration_seconds: expect.any(Number),
      cost_usd: 0.3,
      cost_unknown: 1,
      tokens: { input: 30, output: 3, cached: 0 },
      tokens_unknown: 1,
    });
    expect(aggregate!.text).toMatch(
      /## 1\. First \(run_\w+, completed\)\n\none\n\n## 2\. scripted .*\n\ntwo/,
    );
  });

  test('sums nothing up to null, never to 0', { tags: ['C5'] }, async () => {
    const { aggregate } = await strictCall<Parallel>(await open(), 'spawn_parallel', {
      aggregate_results: true,
      agents: [agent('report a')],
    });
    expect(aggregate).toMatchObject({ cost_usd: null, tokens: null, cost_unknown: 1, tokens_unknown: 1 });
  });

  test('returns at once with async; get_result of the squad goes on', async () => {
    const client = await open();
    const started = await strictCall<Parallel>(client, 'spawn_parallel', {
      async: true,
      aggregate_results: true,
      agents: [agent(`await go-${modern}\nreport a`), agent('report b')],
    });
    expect(started).toMatchObject({
      aggregate: { failed: 0, duration_seconds: null },
      note: expect.stringContaining(`get_result {"squad_id":"${started.squad_id}"`),
    });
    expect(started.results).toHaveLength(2);
    squad.write(`go-${modern}`, '');
    const { members } = await until('both are over', async () => {
      const now = await strictCall<Squad>(client, 'get_result', {
        squad_id: started.squad_id,
        wait_seconds: 90,
      });
      return now.status === 'running' ? null : now;
    });
    expect(members.map(({ rawStdout }) => rawStdout)).toEqual(['a', 'b']);
  });
});

describe('many results', () => {
  test.each([
    { count: 4, aggregate_results: false },
    { count: 4, aggregate_results: true },
    { count: 50, aggregate_results: true },
  ])(
    'of $count fit, all of them, and what is cut says so (aggregate: $aggregate_results)',
    async ({ count, aggregate_results }) => {
      const client = await squad.client();
      const words = 'long words '.repeat(800);
      const started = await strictCall<Parallel>(client, 'spawn_parallel', {
        aggregate_results,
        agents: Array.from({ length: count }, (_, i) => agent(`report number ${i}: ${words}`)),
      });
      expect(started.results.map(({ status }) => status)).toEqual(Array(count).fill('completed'));
      for (const { truncated } of started.results) expect(truncated).toBe(true);
      if (count < 50) {
        for (const { output_file } of started.results) expect(output_file).toContain('stdout');
        for (const [i, { result }] of started.results.entries())
          expect(result).toMatch(new RegExp(`^number ${i}: long`));
      }
      const size = JSON.stringify(started).length;
      expect(size).toBeLessThanOrEqual(RESULT_LIMIT);
      expect(size).toBeGreaterThan(RESULT_LIMIT * 0.8);
      if (aggregate_results && count < 50)
        expect(started.aggregate!.text.match(/^## /gm)).toHaveLength(count);
    },
  );

  test('a short one among long ones is whole', async () => {
    const client = await squad.client();
    const words = 'long words '.repeat(2000);
    const { results } = await strictCall<Parallel>(client, 'spawn_parallel', {
      agents: [agent(`report ${words}`), agent('report short'), agent(`report ${words}`)],
    });
    expect(results[1]).toMatchObject({ result: 'short' });
    expect(results[1]).not.toHaveProperty('truncated');
    expect(results[0]).toMatchObject({ truncated: true });
  });
});

describe('is refused as a whole, and nothing starts', () => {
  const cases: [string, object, string, RegExp][] = [
    ['for no agents', { agents: [] }, 'INVALID_INPUT', /agents/],
    ['for more than 50', { agents: Array(51).fill({ prompt: 'x' }) }, 'INVALID_INPUT', /50/],
    [
      'for one that cannot be',
      { agents: [{ prompt: 'x' }, { prompt: 'x', roleId: 'nobody' }] },
      'ROLE_UNKNOWN',
      /^agents\[1\]/,
    ],
    ['for async in one of them', { agents: [{ prompt: 'x', async: true }] }, 'INVALID_INPUT', /async/],
    [
      'for a wrong time in one of them',
      { agents: [{ prompt: 'x', timeout: 5 }] },
      'INVALID_INPUT',
      /30 to 1800/,
    ],
  ];
  test.each(cases)('%s', async (_, args, code, message) => {
    const before = await squad.json<{ runs: unknown[] }>(['ls', '--all']);
    const refused = await callTool<Refused>(await squad.client(), 'spawn_parallel', { ...args });
    expect(refused).toMatchObject({ isError: true, error: { code } });
    expect(refused.error.message).toMatch(message);
    expect((await squad.json<{ runs: unknown[] }>(['ls', '--all'])).runs).toHaveLength(before.runs.length);
  });
});
