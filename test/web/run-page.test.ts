import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { script } from '../support/git-squad.ts';
import { TestSquad, until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);

const statusOf = async (run: string) =>
  (await askHub<{ run: { status: string } }>(squad, 'show_run', { run })).run.status;

test('the address of a running agent shows the tokens and the cost so far', async () => {
  const run = await startRun(squad, 'Count', ['usage 1000 200 0 0.5', 'say counted', 'hang']);
  await until('it was counted', async () => {
    const { runs } = await askHub<{ runs: { id: string; usage: unknown }[] }>(squad, 'list_board');
    return runs.some(({ id, usage }) => id === run && usage !== null);
  });
  const page = await webUi.open(`/r/${run}`);
  const facts = page.locator('.run-facts');
  await facts.getByText('1.2k').waitFor();
  await facts.getByText('$0.50').waitFor();
  await squad.run(['cancel', run]);
});

test('the details show tokens and cost as curves, the cost with a line for the budget', async () => {
  const lines = ['usage 1000 200 0 0.2', 'say one', 'usage 3000 600 0 0.6', 'say two', 'say three', 'hang'];
  const members = [{ roleId: 'coder', task: `Burn${script(...lines)}`, budgetUsd: 1 }];
  const { runIds } = await askHub<{ runIds: string[] }>(squad, 'start_squad', { members });
  const page = await webUi.open(`/r/${runIds[0]}/details`);
  await page.getByRole('img', { name: /^3.6k tokens after / }).waitFor();
  const cost = page.getByRole('img', { name: /^\$0.60 of \$1.00 after / });
  await cost.waitFor();
  const [line = '', budget] = await cost
    .locator('path:not(.burn-area)')
    .evaluateAll(paths => paths.map(path => path.getAttribute('d') ?? ''));
  expect(line).toMatch(/^M0.00 100.00H[\d.]+V80.00H[\d.]+V40.00H100$/);
  expect(budget).toBe('M0 0.00H100');
  await squad.run(['cancel', runIds[0]!]);
});

test('on a phone and at 200 % the header leaves room for the run', async () => {
  const run = await startRun(
    squad,
    'A task with a title that is rather long, so that it takes several lines',
    ['report done'],
  );
  const page = await webUi.open(`/r/${run}`, { width: 360 });
  for (const [width, height] of [
    [360, 740],
    [640, 400],
  ] as const) {
    await page.setViewportSize({ width, height });
    const { bottom } = (await page
      .locator('.tabs')
      .evaluate(tabs => tabs.getBoundingClientRect().toJSON())) as {
      bottom: number;
    };
    expect(bottom, `${width} by ${height}`).toBeLessThan(Math.max(height / 2, 300));
  }
});

test('a failure has buttons for what can be done next', async () => {
  const run = await startRun(squad, 'Break', ['fail it broke']);
  await until('it failed', async () => (await statusOf(run)) === 'error');
  const page = await webUi.open(`/r/${run}`);
  await page.locator('.failure').getByRole('button', { name: 'Retry' }).click();
  await page.locator('dialog[open]').getByRole('button', { name: 'Retry' }).click();
  await page.waitForURL(url => url.pathname.startsWith('/r/') && !url.pathname.includes(run));
});

test('each event names its run and role', async () => {
  const run = await startRun(squad, 'Say something', ['say something', 'report done']);
  await until('it is done', async () => (await statusOf(run)) === 'completed');
  const page = await webUi.open(`/events?run=${run}`);
  await page.locator('.event', { hasText: 'run.ended' }).getByText('coder: Say something').waitFor();
});
