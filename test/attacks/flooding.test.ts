import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { echoBlock, hostileBlock } from '../servers/start.ts';
import { TestSquad, until } from '../support/squad.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure, upstreamsOf } from './config-file.ts';

/** What each does, and what is said of it afterwards; null: it only talks too much beside its answers. */
const FLOODS: Record<string, RegExp | null> = {
  'endless-bytes': /message of more than \d+ bytes/,
  'huge-frame': /message of more than \d+ bytes/,
  'deep-json': null,
  'tiny-frames': null,
  'blank-lines': null,
  'stderr-flood': null,
  'stderr-line': null,
  'invalid-json': null,
};
const MEBIBYTE = 1024 * 1024;
/** 64 MiB more than before, and what a collector of garbage has not come to yet on a busy machine. */
const MOST_GROWTH = (64 + 64) * MEBIBYTE;

const squad = new TestSquad();
let victim: Agent;
let honest: Agent;

beforeAll(async () => {
  await squad.unlimited();
  const names = Object.keys(FLOODS);
  await configure(squad, {
    servers: {
      good: echoBlock(),
      ...Object.fromEntries(names.map(name => [name, hostileBlock(name, { timeout: 2_000 })])),
    },
    agentServers: { coder: names, reviewer: ['good'] },
  });
  [victim, honest] = (await startAgents(squad, 'coder', 'reviewer')) as [Agent, Agent];
  await until('all are listed', async () => (await victim.theirs()).length >= names.length);
  await honest.sees('good__about', 'good__count', 'good__echo', 'good__progress');
});
afterAll(() => squad[Symbol.asyncDispose]());

const memory = async () => (await squad.json<{ memoryBytes: number }>(['hub', 'status'])).memoryBytes;

describe('a server that sends without measure', () => {
  test.each(Object.entries(FLOODS))(
    '(%s) costs nobody else a call, and the hub no memory to speak of',
    async (name, fault) => {
      const before = await memory();
      let isOver = false;
      const flood = victim.call(`${name}__echo`, { nonce: 'n' }).finally(() => {
        isOver = true;
      });
      let calls = 0;
      // One after the other for as long as it lasts, and a few in any case.
      while (!isOver || calls < 5) {
        const nonce = `honest ${++calls}`;
        const { message } = await honest.call('good__echo', { nonce });
        expect(message.result?.content).toEqual([{ type: 'text', text: nonce }]);
      }
      const { message } = await flood;
      expect(message.result ?? message.error).toBeDefined();
      if (fault) {
        const found = (await upstreamsOf(squad)).find(({ server }) => server === name)!;
        expect(found.fault).toMatch(fault);
        expect((await squad.run(['mcp', 'status'])).stdout).toContain(name);
      }
      const good = (await upstreamsOf(squad)).find(({ server }) => server === 'good')!;
      expect(good).toMatchObject({ health: 'up', fault: null });
      await until('the memory is back', async () => (await memory()) - before < MOST_GROWTH);
    },
  );
});
