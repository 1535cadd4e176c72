/** An agent of every CLI asks the user and gets the answer within the same turn. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { InboxItem } from '../../src/schema/inbox.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const ASK_TIMEOUT_MS = 60_000;

/** Gemini CLI denies every tool named `ask_user` when nobody is at its terminal, also those of MCP servers. */
const askTool = (name: CliName) => (name === 'gemini' ? 'ask_person' : 'ask_user');

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name]);
  });
  afterAll(() => it[Symbol.asyncDispose]());

  test.each(['read', 'edit'])(
    'asks the user and reads the answer: permission %s',
    { tags: ['F4'] },
    async permission => {
      const question = `Tabs or spaces for ${permission}?`;
      const steps = [{ call: askTool(name), arguments: { question } }, { text: 'Tabs it is.' }];
      const tag = `ask-${permission}`;
      const { spawn_id } = await it.begin(name, `Format it. ${mock(steps, tag)}`, { permission });
      const item = await until(
        'the question is in the inbox',
        async () => {
          const { items } = await it.squad.json<{ items: InboxItem[] }>(['inbox']);
          return items.find(({ runId }) => runId === spawn_id);
        },
        ASK_TIMEOUT_MS,
      );
      expect(item).toMatchObject({ kind: 'question', question, owner: 'user' });
      const { code, stderr } = await it.squad.run(['answer', item.id, 'tabs, always']);
      expect(code, stderr).toBe(0);
      expect(await it.end(spawn_id)).toMatchObject({ status: 'completed', result: 'Tabs it is.' });
      const told = it.server.requests.findLast(call => call.tag === tag && call.step === 1);
      expect(told?.toolResults.join('\n')).toContain('tabs, always');
      expect(it.server.requests.filter(call => call.tag === tag && call.step === 0)).toHaveLength(1);
    },
  );
});
