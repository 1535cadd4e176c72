/** Usage of real CLIs is counted once, also when a turn is cut short, and budgets are enforced while they run. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import { cliProfile } from '../../src/engines/cli-profiles.ts';
import { until } from '../support/squad.ts';
import { bareCommand } from './bare/command.ts';
import { startBare } from './bare/run.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const usage = { input: 1000, output: 10, cached: 0 };

test.each(chosenClis())('%s: a cancelled turn is not counted again in the next', async name => {
  await using it = await EngineSquad.start([name]);
  const steps = [{ shell: 'echo 1', usage }, { hang: 'stream' as const }];
  const { spawn_id } = await it.begin(name, `Go. ${mock(steps, 'cut')}`, { permission: 'edit' });
  await it.server.waitForRequest(({ tag, step }) => tag === 'cut' && step === 1, 60_000);
  // Some ask the model for more before they say what the last answer took.
  const lines = join(it.squad.home, 'runs', spawn_id, 'turn-1', 'stdout');
  if (isLive(name))
    await until('it has told what it used', () => readFileSync(lines, 'utf8').includes('1000'));
  await it.call('cancel_run', { spawn_id });
  const cut = await it.end(spawn_id);
  expect(cut.status).toBe('cancelled');

  const next = await it.spawn(name, `On. ${mock([{ text: 'ok', usage }], 'next')}`, { chatId: cut.chat_id });
  expect(next).toMatchObject({ status: 'completed', chat_id: cut.chat_id });
  const counted = it.server.usage({ tag: 'cut' }).input + it.server.usage({ tag: 'next' }).input;
  expect((cut.tokens?.input ?? 0) + (next.tokens?.input ?? 0)).toBeLessThanOrEqual(counted);
  if (!isLive(name)) return;
  expect(cut.tokens?.input).toBe(it.server.usage({ tag: 'cut' }).input);
  const { input, output, cached } = it.server.usage({ tag: 'next' });
  expect(next.tokens).toEqual({ input, output, cached });
});

/** They report the usage of the whole chat; Claude Code reports that of the turn too. */
const COUNTS_THE_CHAT: CliName[] = ['codex', 'copilot', 'qwen'];
const counting = chosenClis().filter(name => name === 'claude' || COUNTS_THE_CHAT.includes(name));

test.each(counting)('%s: what a chat used outside Squad is not counted in the next turn', async name => {
  await using it = await EngineSquad.start([name]);
  const first = await it.spawn(name, `Go. ${mock([{ text: 'one', usage }], 'first')}`);
  const { HOME: home = '' } = it.squad.env;
  const where = { url: it.server.url, home, cwd: it.squad.workspace, chat: first.chat_id! };
  const outside = mock([{ text: 'two', usage: { ...usage, input: 5000 } }], 'outside');
  const { code } = await startBare(bareCommand(name, where), where.cwd, `Go. ${outside}`).ended;
  expect(code).toBe(0);

  const goOn = (tag: string) =>
    it.spawn(name, `On. ${mock([{ text: tag, usage }], tag)}`, { chatId: first.chat_id });
  const next = await goOn('next');
  expect(next).toMatchObject({ status: 'completed', result: 'next', chat_id: first.chat_id });
  if (COUNTS_THE_CHAT.includes(name)) {
    expect(next).toMatchObject({ tokens: null, usage_source: 'none' });
    expect(next.note).toContain('used outside Squad since the last turn');
  } else expect(next.tokens).toEqual(usage);
  expect((await goOn('last')).tokens).toEqual(usage);
  if (name !== 'claude') return;
  // A turn that reaches no model used nothing of what the chat has used so far.
  const failed = await it.spawn(name, `Try. ${mock([{ status: 401 }], 'failed')}`, { chatId: first.chat_id });
  expect(failed.status).toBe('error');
  expect(failed.tokens?.input ?? 0).toBe(0);
});

const isLive = (name: CliName) => cliProfile(name).usageIsReported === 'live';

describe.each(chosenClis().filter(isLive))('%s', name => {
  test('is stopped in the middle of its work when the budget of the day is gone', async () => {
    await using it = await EngineSquad.start([name]);
    const price = { input: 3, cached: 3, output: 15 };
    const prices = { 'mock-model': price, 'claude-sonnet-4-5': price };
    writeFileSync(join(it.squad.home, 'prices.json'), JSON.stringify(prices));
    await it.squad.json(['config', 'set', 'budget.day_usd', '0.2']);
    const steps = [{ shell: 'echo 1', usage: { ...usage, input: 100_000 } }, { hang: 'stream' as const }];
    const model = name === 'claude' ? { model: 'claude-sonnet-4-5' } : {};
    const result = await it.spawn(name, `Go. ${mock(steps, 'dear')}`, { permission: 'edit', ...model });
    expect(result).toMatchObject({ success: false, error: { code: 'BUDGET_EXCEEDED' } });
    expect(result.cost_usd).toBeCloseTo(0.3, 2);
    await it.nothingLeft();
  });
});

/** The set-up of each names its model; only these two do not say it in their events. */
test.each(chosenClis().filter(name => name === 'codex' || name === 'opencode'))(
  '%s: a budget is checked with the model that its own configuration names, and a turn that has ended is left alone',
  async name => {
    await using it = await EngineSquad.start([name]);
    const prices = { 'mock-model': { input: 3, cached: 3, output: 15 } };
    writeFileSync(join(it.squad.home, 'prices.json'), JSON.stringify(prices));
    const steps = [{ text: 'Done.', usage: { ...usage, input: 100_000 } }];
    const result = await it.spawn(name, `Go. ${mock(steps, 'own-model')}`, { max_cost_usd: 0.1 });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', note: expect.any(String) });
    expect(result.model).toMatch(/mock-model$/);
    expect(result.cost_usd).toBeCloseTo(0.3, 2);
    expect(result.note).toContain('of a budget of $0.10. It was not stopped: its turn had already ended');
  },
);
