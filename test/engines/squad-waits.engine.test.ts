/** A CLI at a usage limit: its run waits, and the same chat goes on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { Run } from '../../src/schema/run.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

/** Requests with which each finds out that it is limited. The others go on asking for longer than anyone waits. */
const REFUSED: Partial<Record<CliName, number>> = { claude: 2, codex: 1 };
/** With an API key, Claude Code does not say when the limit is reset. */
const UNKNOWN_MS = 60_000;
const names = chosenClis().filter(name => REFUSED[name]);
const roles = { patient: '---\npark: 10m\n---\nYou are patient.\n' };

if (names.length > 0)
  describe.each(names)('%s', name => {
    let it: EngineSquad;
    beforeAll(async () => {
      it = await EngineSquad.start([name], { roles });
    });
    afterAll(() => it[Symbol.asyncDispose]());

    test('waits, sends nothing meanwhile, and continues in its chat', { tags: ['G5'] }, async () => {
      // Codex says the minute only.
      const limitedUntil = Math.ceil(Date.now() / 60_000 + 0.5) * 60;
      const times = REFUSED[name]!;
      const steps = [{ status: 429, times, limitedUntil, text: 'Done.' }, { text: 'Done.' }];
      const result = await it.spawn(name, `Try. ${mock(steps, 'limited')}`, { roleId: 'patient' });
      expect(result).toMatchObject({ status: 'completed', note: expect.stringContaining('Waited once') });
      const { run } = await it.squad.json<{ run: Run }>(['show', result.spawn_id]);
      expect(run.turn).toBe(2);
      const requests = it.server.requests.filter(({ tag }) => tag === 'limited');
      const [refused, later] = [requests.slice(0, times), requests.slice(times)];
      expect(refused.map(({ status }) => status)).toEqual(Array(times).fill(429));
      const until = name === 'codex' ? limitedUntil * 1_000 : refused.at(-1)!.at + UNKNOWN_MS;
      for (const { at } of later) expect(at).toBeGreaterThanOrEqual(until);
      expect(later[0]?.turns.map(({ text }) => text).join()).toMatch(/Try\.[\s\S]*ended at a usage limit/);
    });
  });
