import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
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
