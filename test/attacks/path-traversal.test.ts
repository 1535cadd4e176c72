import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Operation } from '../../src/operations/operation.ts';
import { OPERATIONS } from '../../src/operations/operations.ts';
import { figure } from '../faults/figures.ts';
import { TestSquad } from '../support/squad.ts';
import { footprint } from '../support/stored.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure } from './config-file.ts';
import { hostilePaths } from './corpus/paths.ts';
import { inBatches } from './in-batches.ts';
import { Recorded, toolNamed } from './recorded.ts';
import { SocketLine } from './socket-line.ts';

const squad = new TestSquad();
const CANARY = 'canary-content-51c9';
const outside = join(squad.root, 'outside');
const PATHS = hostilePaths(join(outside, 'canary.md'));
const kept = new Recorded(squad.root, 'kept', {
  tools: [toolNamed('say')],
  resources: [{ uri: 'note://one', name: 'one' }],
  resourceTemplates: [{ uriTemplate: 'note://{name}', name: 'note' }],
});
let agent: Agent;

beforeAll(async () => {
  // Whatever a path leads to outside of where it is looked for, it says this.
  for (const name of ['canary.md', 'canary', 'history.md', 'charter.md', 'identity.json', 'stdout']) {
    mkdirSync(join(outside, 'canary-folder'), { recursive: true });
    writeFileSync(join(outside, name), CANARY);
    writeFileSync(join(outside, 'canary-folder', name), CANARY);
    writeFileSync(join(squad.root, name), CANARY);
  }
  await squad.unlimited();
  squad.write('.squad/agents/ada/history.md', '### 2026-01-01\nShe began.\n');
  squad.write('.squad/agents/coder.md', 'You code.\n');
  squad.write('.squad/decisions.md', '### 2026-01-01: One\n**By:** ada\n**What:** x\n');
  await configure(squad, { servers: { kept: kept.block({ resources: ['note://one'] }) }, shared: ['kept'] });
  [agent] = (await startAgents(squad, 'coder')) as [Agent];
  await agent.sees('kept__say');
});
afterAll(() => squad[Symbol.asyncDispose]());

/** Nothing of a file outside, and no trace of one: neither ours nor the system's. */
function isClean(words: string): boolean {
  return !words.includes(CANARY) && !/root:[^:]*:0:0:/.test(words) && !words.includes('SQUAD_HOME=');
}

test('there are more than three hundred paths that lead elsewhere', {
  tags: ['R28', 'path-traversal'],
}, () => {
  expect(new Set(PATHS).size).toBeGreaterThan(300);
  figure('R28', { reached: new Set(PATHS).size, of: 300, told: 'paths, none was opened' });
});

/** They start programs: what they take for a role, a chat and a folder is looked at below. */
const STARTING = /^(start_|spawn_)/;
/** Words, not names of anything; and what would end the hub, its runs or this test. */
const NOT_A_NAME = ['task', 'prompt', 'text', 'title', 'what', 'why', 'search', 'query', 'value'];
const ENDING = ['stop_hub', 'prune', 'follow_events'];

const fieldsOf = ({ input }: Operation): [string, boolean][] => {
  const { properties = {} } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).flatMap(([name, schema]): [string, boolean][] => {
    const { type, items } = schema as { type?: string; items?: { type?: string } };
    if (NOT_A_NAME.includes(name)) return [];
    if (type === 'string') return [[name, false]];
    return type === 'array' && items?.type === 'string' ? [[name, true]] : [];
  });
};
const FIELDS = OPERATIONS.filter(({ name }) => !STARTING.test(name) && !ENDING.includes(name)).flatMap(
  operation => fieldsOf(operation).map(([field, isList]) => ({ name: operation.name, field, isList })),
);

test('there are names to be given in many places', () => {
  expect(FIELDS.length).toBeGreaterThan(15);
});

test.each(FIELDS)(
  '$field of $name is looked up, never opened',
  { tags: ['path-traversal'] },
  async ({ name, field, isList }) => {
    const before = await footprint(squad);
    using socket = await SocketLine.open(squad);
    const questions = PATHS.map((path, id) => {
      const input = {
        [field]: isList ? [path] : path,
        ...(name === 'reply_to_run' && { text: 'x' }),
        // Hundreds of long answers at once are more than the hub keeps for a client that does not read.
        ...(name === 'list_events' && { limit: 1 }),
      };
      return JSON.stringify({ id, operation: name, input, waitMs: 0 });
    });
    const replies = await socket.askAll(questions);
    expect(replies).toHaveLength(PATHS.length);
    expect(replies.filter(reply => !isClean(reply) || reply.includes('"INTERNAL"'))).toEqual([]);
    expect(await footprint(squad)).toEqual(before);
  },
);

describe('an agent', () => {
  test('reads no resource but those that are listed', { tags: ['path-traversal'] }, async () => {
    const uris = PATHS.flatMap(path => [
      `squad://agents/${path}/history`,
      `squad://agents/${encodeURIComponent(path.toWellFormed())}/history`,
      `squad://${path}`,
      `kept+note://${path}`,
      `kept+file://${path}`,
    ]);
    await inBatches(uris, async uri => {
      const { body, message } = await agent.ask('resources/read', { uri });
      expect(message.result, uri).toBeUndefined();
      expect(isClean(body), uri).toBe(true);
    });
    expect(kept.asked()).toEqual([]);
  });

  test('reaches no tool, and completes no name, that is a path', { tags: ['path-traversal'] }, async () => {
    await inBatches(PATHS, async path => {
      for (const name of [path, `kept__${path}`, `${path}__say`])
        expect((await agent.call(name)).message.result, name).toBeUndefined();
      const { body } = await agent.ask('completion/complete', {
        ref: { type: 'ref/resource', uri: 'squad://agents/{name}/history' },
        argument: { name: 'name', value: path },
      });
      expect(isClean(body)).toBe(true);
    });
    expect(kept.asked()).toEqual([]);
  });
});

describe('attempts to start agents', () => {
  const STATEFUL = { STATE_MODE: 'stateful' };
  test.each([
    ['roleId', 'off', ['ROLE_UNKNOWN'], {}],
    ['chatId', 'off', ['CHAT_UNKNOWN', 'INVALID_INPUT', 'INVALID_TEXT'], STATEFUL],
    // A sandbox has the files of the chats that began in it, and of no other.
    ['chatId', 'workspace', ['INVALID_INPUT', 'INVALID_TEXT', 'SANDBOX_UNAVAILABLE'], STATEFUL],
  ])(
    'finds no %s that is a path, with sandbox: %s',
    {
      tags: ['path-traversal'],
    },
    async (field, sandbox, expected, env) => {
      const before = await footprint(squad);
      const client = await squad.client({ env: { ENGINE_COMMAND: 'scripted', ...env } });
      // A chat id that is empty is none.
      const codes = await Promise.all(
        PATHS.filter(path => field === 'roleId' || path !== '').map(async path => {
          const member = { roleId: 'coder', task: 'x', sandbox, [field]: path };
          const result = await client.callTool({
            name: 'start_squad_members',
            arguments: { members: [member] },
          });
          expect(isClean(JSON.stringify(result))).toBe(true);
          return (result.structuredContent as { error?: { code: string } }).error?.code;
        }),
      );
      expect([...new Set(codes)].sort()).toEqual(expected);
      expect(await footprint(squad)).toEqual(before);
    },
  );
});
