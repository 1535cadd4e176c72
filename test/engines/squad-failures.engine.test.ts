/** Every engine when things go wrong: a clear error, a true status, nothing left. */
import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

/** The others go on asking a failing API for longer than anyone waits. */
const GIVES_UP: CliName[] = ['claude', 'codex', 'gemini'];
/** The others say what they spent only at their end. */
const TELLS_COST: CliName[] = ['claude', 'opencode'];

/** Longer than the role has time. Claude Code does not wait for much longer: it gives up at once. */
const WAIT_SECONDS = 55;
/** Some take long to get to their first request. */
const SLOW_TO_START: CliName[] = ['opencode', 'copilot'];
const roles = (name: CliName) => ({
  hasty: `---\ntimeout: ${SLOW_TO_START.includes(name) ? 45 : 25}s\n---\nYou have little time.\n`,
});
/** The others say that the API failed, not how long they wait. */
const TELLS_WAIT: CliName[] = ['claude', 'gemini'];
/** Failures from which a CLI recovers by itself, with the text that it reports. */
const NOT_WHOLE: Partial<Record<CliName, Record<string, string>>> = {
  claude: { full: 'output limit', filtered: 'content filter' },
  codex: { filtered: 'content filter' },
  qwen: { full: 'output limit' },
};

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], { roles: roles(name) });
  });
  afterAll(() => it[Symbol.asyncDispose]());

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'ended from outside with %s is not taken for done',
    async signal => {
      const steps = [{ shell: `touch ${signal}; exec tail -f /dev/null` }];
      const { spawn_id } = await it.begin(name, `Wait. ${mock(steps, signal)}`, { permission: 'edit' });
      await until('its command runs', () => existsSync(join(it.squad.workspace, signal)), 60_000);
      const cli = await it.agentProgram(spawn_id);
      process.kill(cli, signal);
      const result = await it.end(spawn_id);
      expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'ENGINE_FAILED' } });
      if (signal === 'SIGKILL') expect(result.error?.message).toContain('killed by signal 9');
      await it.nothingLeft();
    },
  );

  test('an unknown chat fails with CHAT_UNKNOWN', async () => {
    const chatId = name === 'opencode' ? 'ses_00000000000000000000000000' : randomUUID();
    const prompt = `Go on. ${mock([{ text: 'On.' }], 'no-chat')}`;
    const error = await it.spawn(name, prompt, { chatId }).then(
      result => JSON.stringify(result.error),
      refused => String(refused),
    );
    expect(error).toContain('CHAT_UNKNOWN');
    expect(it.server.first('no-chat')).toBeUndefined();
  });

  // Gemini CLI streams its answer in small pieces, and takes a minute for one as long as this.
  if (name !== 'gemini')
    test('an answer that is too long to read fails, and no earlier text is its answer', async () => {
      // Counted as little, or opencode makes its chat shorter and goes on.
      const usage = { input: 1000, output: 10 };
      const steps = [
        { text: 'Looking.', shell: 'echo one', usage },
        { bytes: 9_500_000, usage },
      ];
      const result = await it.spawn(name, `Tell all. ${mock(steps, 'long')}`, { permission: 'edit' });
      expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'OUTPUT_LIMIT' } });
      const stdout = join(it.squad.home, 'runs', result.spawn_id, 'turn-1', 'stdout');
      expect(statSync(stdout).size).toBeGreaterThan(9_500_000);
    });

  if (GIVES_UP.includes(name))
    test.each([
      [429, 'ENGINE_RATE_LIMITED'],
      [529, 'ENGINE_RATE_LIMITED'],
      [500, 'ENGINE_FAILED'],
    ])('an API that answers %i fails the run with %s', async (status, code) => {
      const result = await it.spawn(name, `Try. ${mock([{ status }], `api-${status}`)}`);
      expect(result).toMatchObject({ status: 'error', success: false, error: { code } });
    });

  if (name === 'claude')
    test('a model name is refused only by the CLI, in its own words', async () => {
      const spawn = async (tag: string, step: object) => {
        const prompt = `Try. ${mock([step], tag)}`;
        const { spawn_id } = await it.call('spawn_claude', { prompt, model: 'no-such-model', async: true });
        return it.end(spawn_id);
      };
      expect(await spawn('model-served', { text: 'Here.' })).toMatchObject({
        success: true,
        result: 'Here.',
      });
      expect(it.server.first('model-served')?.model).toBe('no-such-model');
      const refused = await spawn('model-unknown', { status: 404 });
      expect(refused).toMatchObject({ success: false, error: { code: 'ENGINE_FAILED' } });
      expect(refused.error?.message).toMatch(/selected model \(no-such-model\).*may not exist/);
    });

  test('a timeout while the API makes it wait says so', async () => {
    const steps = [{ status: 429, retryAfter: WAIT_SECONDS }];
    const result = await it.spawn(name, `Try. ${mock(steps, 'wait')}`, { roleId: 'hasty' });
    expect(result).toMatchObject({ status: 'timeout', error: { code: 'ENGINE_RATE_LIMITED' } });
    if (TELLS_WAIT.includes(name)) expect(result.error?.message).toContain('is longer than the timeout');
  });

  if (NOT_WHOLE[name])
    test.each(Object.entries(NOT_WHOLE[name]))(
      'an answer that is not whole is noted: %s',
      async (stop, about) => {
        const steps = [{ text: 'In short, the ans', stop: stop as 'full' }, { text: 'The answer.' }];
        // Qwen Code first asks again with a higher limit.
        if (name === 'qwen') steps.splice(1, 0, steps[0]!);
        const result = await it.spawn(name, `Answer. ${mock(steps, stop)}`);
        expect(result.error).toBeUndefined();
        expect(result).toMatchObject({ status: 'completed', note: expect.stringContaining(about) });
      },
    );

  if (TELLS_COST.includes(name))
    test('is stopped at its budget', async () => {
      const usage = { input: 100_000, output: 10 };
      const steps = [{ shell: 'echo one', usage }, { shell: 'echo two', usage }, { text: 'Too late.' }];
      const result = await it.spawn(name, `Spend. ${mock(steps, 'budget')}`, {
        permission: 'edit',
        max_cost_usd: 0.01,
        abort_on_budget_exceeded: true,
      });
      expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'BUDGET_EXCEEDED' } });
      expect(result.cost_usd).toBeGreaterThan(0.01);
      await it.nothingLeft();
    });
});

/** Variables without which a CLI has no key. */
const KEYS: Partial<Record<CliName, RegExp>> = {
  claude: /^ANTHROPIC_API_KEY$/,
  codex: /^MOCK_KEY$/,
  gemini: /^GEMINI_API_KEY$/,
  copilot: /^COPILOT_/,
  qwen: /^OPENAI_API_KEY$/,
};
const keyed = chosenClis().filter(name => KEYS[name]);

if (keyed.length > 0)
  test.each(keyed)('%s without a key: the result says how to log in', { tags: ['A10'] }, async name => {
    await using it = await EngineSquad.start([name], {
      prepare: async squad => {
        for (const variable of Object.keys(squad.env).filter(key => KEYS[name]!.test(key)))
          delete squad.env[variable];
      },
    });
    const result = await it.spawn(name, `Try. ${mock([{ text: 'Never.' }], 'keyless')}`);
    expect(result).toMatchObject({ status: 'error', error: { code: 'ENGINE_NOT_LOGGED_IN' } });
    expect(result.note).toMatch(/For the user: .+/);
  });
