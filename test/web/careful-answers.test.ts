import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { ShownItem } from '../../src/operations/inbox/inbox.ts';
import { askHub } from '../support/ask-hub.ts';
import { RunningAgent } from '../support/running-agent.ts';
import { TestSquad, until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);

const items = async (state: 'open' | 'all' = 'open') =>
  (await askHub<{ items: ShownItem[] }>(squad, 'list_inbox', { state })).items;
const asked = (question: string) =>
  until(`"${question}" is asked`, async () => (await items()).find(item => item.question === question));
const stateOf = async (id: string) => (await items('all')).find(item => item.id === id)?.state;
const answer = (id: string, words: string) => askHub(squad, 'answer_question', { item: id, answer: words });
const ask = (given: object) => `call ask_user ${JSON.stringify(given)}`;

/** Its agent asks all of these at once, and waits. */
async function asksAll(agent: RunningAgent, ...asks: { question: string }[]) {
  const client = await agent.overHttp(true);
  for (const given of asks) {
    const call = client.callTool({ name: 'ask_user', arguments: given }, { timeout: 120_000 });
    // Over with its client.
    call.catch(() => {});
  }
  return Promise.all(asks.map(({ question }) => asked(question)));
}
const focusRow = async (page: Page, run: string) => {
  const row = page.locator(`[data-run=${run}]`);
  await row.locator('.run-title').focus();
  return row;
};

test('an approval with details is not given before they were visible: its key opens it', {
  tags: ['F4'],
}, async () => {
  const run = await startRun(squad, 'Drop it', [
    ask({ question: 'May I go on?', kind: 'approval', details: 'drop database prod;' }),
  ]);
  const { id } = await asked('May I go on?');
  const page = await webUi.open('/');
  const row = await focusRow(page, run);
  await row.getByRole('link', { name: /^Open/ }).waitFor();
  expect(await row.getByRole('button').count()).toBe(0);
  const footer = page.locator('.footer-keys');
  expect(await footer.innerText()).toContain('a answer');
  expect(await footer.innerText()).not.toContain('allow');
  const short = await startRun(squad, 'Ask', [ask({ question: 'And now?', kind: 'approval' })]);
  await page
    .locator(`[data-run=${short}]`)
    .getByRole('button', { name: /^Allow/ })
    .waitFor();
  expect(await footer.innerText()).toContain('y/n allow, deny');
  await squad.run(['cancel', short]);
  await page.keyboard.press('y');
  const item = page.locator(`#${id}`);
  await item.getByText('drop database prod;').waitFor();
  expect(page.url()).toBe(`${webUi.origin}/inbox#${id}`);
  expect(await stateOf(id)).toBe('open');
  await answer(id, 'no');
});

test('an approval is given where all of it was visible; before that, its key moves the focus to the details', async () => {
  const details = Array.from({ length: 400 }, (_, at) => `rm -r folder-${at}`).join('\n');
  const given = { question: 'May I tidy up?', kind: 'approval', details };
  for (const place of ['run page', 'inbox']) {
    const run = await startRun(squad, 'Tidy', [ask(given)]);
    const { id } = await asked(given.question);
    const page = await webUi.open(place === 'inbox' ? `/inbox#${id}` : `/r/${run}`);
    const item = page.locator(`[data-item=${id}]`);
    await item.getByText('Scroll to the end to allow it').waitFor();
    const allow = item.getByRole('button', { name: 'allow' });
    expect(await allow.getAttribute('aria-disabled')).toBe('true');
    await item.focus();
    await page.keyboard.press('y');
    await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain('ask-details');
    expect(await stateOf(id)).toBe('open');
    await page.keyboard.press('End');
    await expect.poll(() => allow.getAttribute('aria-disabled')).toBeNull();
    expect(await item.getByText('Scroll to the end to allow it').count()).toBe(0);
    await page.keyboard.press('y');
    await until('it is allowed', async () => (await stateOf(id)) === 'answered');
  }
});

test('a colour in a question is a picture wherever it is asked, and stays one', async () => {
  const run = await startRun(squad, 'Colours', [
    ask({ question: 'Now \u001b[31m?', kind: 'approval', details: 'run \u001b[8mhidden' }),
  ]);
  const { id } = await asked('Now \u001b[31m?');
  for (const path of ['/inbox', `/r/${run}`]) {
    const item = (await webUi.open(path)).locator(`[data-item=${id}]`);
    await item.getByText('Now ␛[31m?').waitFor();
    await item.getByText('run ␛[8mhidden').waitFor();
  }
  await answer(id, 'no');
  const after = await webUi.open(`/r/${run}`);
  await after.locator('.steps-fold summary').click();
  await after.locator('main').getByText('Now ␛[31m?').first().waitFor();
});

test('a key that is held down answers once; of several questions only the one in focus has keys', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const [one, two, three] = await asksAll(
    agent,
    ...['First?', 'Second?', 'Third?'].map(question => ({ question, kind: 'approval' })),
  );
  const page = await webUi.open(`/r/${agent.id}`);
  const box = (item: ShownItem) => page.locator(`.open-question[data-item=${item.id}]`);
  // Playwright waits until it can be pressed.
  await box(two!).getByRole('button', { name: 'allow' }).click({ trial: true });
  await page.keyboard.press('y');
  await box(two!).focus();
  for (let times = 0; times < 5; times++) await page.keyboard.down('y');
  await box(two!).getByText('answered').waitFor();
  for (let times = 0; times < 5; times++) await page.keyboard.down('y');
  await page.keyboard.up('y');
  expect(await Promise.all([one!, two!, three!].map(({ id }) => stateOf(id)))).toEqual([
    'open',
    'answered',
    'open',
  ]);
  for (const { id } of [one!, three!]) await answer(id, 'no');
});

test('text that was typed for one question is not an answer to the next', async () => {
  const run = await startRun(squad, 'Two questions', ['ask What is the first?', 'ask What is the second?']);
  const first = await asked('What is the first?');
  const page = await webUi.open('/');
  const row = page.locator(`[data-run=${run}]`);
  const box = row.getByRole('textbox');
  await box.fill('for the first');
  await box.focus();
  await answer(first.id, 'from elsewhere');
  const second = await asked('What is the second?');
  await row.getByText('answered', { exact: true }).waitFor();
  await row.getByText('What is the first?').waitFor();
  await page.keyboard.press('Enter');
  await row.getByRole('button', { name: 'next question' }).click();
  await row.getByText('What is the second?').waitFor();
  expect(await box.inputValue()).toBe('');
  expect(await stateOf(second.id)).toBe('open');
  await box.fill('for the second');
  await row.getByRole('button', { name: 'send' }).click();
  await until('it is answered', async () => (await stateOf(second.id)) === 'answered');
  const { answer: said } = (await items('all')).find(({ id }) => id === second.id)!;
  expect(said).toBe('for the second');
});

test('an unanswered item has no check, and takes no answer any more', async () => {
  const page = await webUi.open('/inbox');
  const run = await startRun(squad, 'Goes away', [ask({ question: 'Still there?', kind: 'approval' })]);
  const { id } = await asked('Still there?');
  const item = page.locator(`#${id}`);
  await item.focus();
  await squad.run(['cancel', run]);
  await item.getByText('withdrawn').waitFor();
  expect(await item.locator('.outcome .tone-good').count()).toBe(0);
  expect(await item.getByRole('button', { name: 'allow' }).getAttribute('aria-disabled')).toBe('true');
  await page.keyboard.press('y');
  expect(await page.locator('.toast').count()).toBe(0);
});

test('an answer goes out once, however often it is pressed', async () => {
  await startRun(squad, 'Once', ['ask "Left or right?" left right']);
  const { id } = await asked('Left or right?');
  const page = await webUi.open('/inbox');
  let sent = 0;
  let letGo = () => {};
  const isHeld = new Promise<void>(resolve => {
    letGo = resolve;
  });
  await page.route('**/api/inbox/**', async route => {
    if (route.request().method() === 'POST') {
      sent++;
      await isHeld;
    }
    await route.continue();
  });
  const item = page.locator(`#${id}`);
  await item.getByRole('button', { name: 'left' }).click();
  await item.getByRole('button', { name: 'right' }).click({ force: true });
  await item.focus();
  await page.keyboard.press('2');
  letGo();
  await page.locator('.settled li', { hasText: 'Left or right?' }).waitFor();
  expect(sent).toBe(1);
  expect((await items('all')).find(one => one.id === id)?.answer).toBe('left');
});

test('a dialog stays with what was typed until the hub has taken it', async () => {
  const run = await startRun(squad, 'Talk', ['report done']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}`);
  webUi.expectErrors(/409/);
  let isRefused = true;
  await page.route('**/reply', route =>
    isRefused
      ? route.fulfill({
          status: 409,
          json: { error: { code: 'RUN_BUSY', kind: 'state', message: 'Not just now.', suggestions: [] } },
        })
      : route.continue(),
  );
  await page.getByRole('button', { name: /^Reply/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('Many words');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.getByText('Not just now.').waitFor();
  expect(await dialog.getByRole('textbox').inputValue()).toBe('Many words');
  isRefused = false;
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.waitForURL(url => !url.pathname.includes(run));
});

test('the inbox says how many wait beyond those it shows', async () => {
  await startRun(squad, 'One of many', ['ask Among many?']);
  const { id } = await asked('Among many?');
  const page = await webUi.blank();
  await page.route(/\/api\/inbox\?.*state=open/, async route => {
    const response = await webUi.fetched(route);
    const answered = (await response.json()) as { items: unknown[] };
    await route.fulfill({ response, json: { ...answered, total: 140 + answered.items.length } });
  });
  await webUi.enter(page, '/inbox');
  await page.locator(`#${id}`).waitFor();
  await page.getByText('140 more, with later deadlines').waitFor();
  await answer(id, 'yes');
});

test('a question that has just come in the place of another takes no answer yet', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const [first] = await asksAll(agent, { question: 'This one?', kind: 'approval' } as { question: string });
  const page = await webUi.open(`/r/${agent.id}`);
  const allow = page.getByRole('button', { name: 'allow' });
  await allow.click({ trial: true });
  await page.evaluate(known => {
    // Whoever meant to press a moment ago.
    new MutationObserver(() => {
      const fresh = document.querySelector(`.open-question:not([data-item="${known}"]) [data-key="y"]`);
      if (fresh instanceof HTMLElement && !fresh.dataset.isPressed) {
        fresh.dataset.isPressed = 'true';
        fresh.click();
      }
    }).observe(document.body, { subtree: true, childList: true });
  }, first!.id);
  await page.keyboard.press('y');
  await until('it is answered', async () => (await stateOf(first!.id)) === 'answered');
  const [second] = await asksAll(agent, { question: 'That one?', kind: 'approval' } as { question: string });
  const fresh = page.locator(`[data-item=${second!.id}] [data-key=y]`);
  await fresh.click({ trial: true });
  expect(await fresh.getAttribute('data-is-pressed')).toBe('true');
  expect(await stateOf(second!.id)).toBe('open');
  await fresh.click();
  await until('it is answered', async () => (await stateOf(second!.id)) === 'answered');
});

test('keys that are held down move, and do nothing else', async () => {
  for (const task of ['One', 'Two', 'Three']) await startRun(squad, task, ['report done']);
  const page = await webUi.open('/');
  await page.locator('.board > li').nth(2).waitFor();
  for (let times = 0; times < 3; times++) await page.keyboard.down('j');
  await page.keyboard.up('j');
  expect(
    await page.evaluate(() =>
      [...document.querySelectorAll('.board > li')].findIndex(row => row.contains(document.activeElement)),
    ),
  ).toBe(2);
  for (let times = 0; times < 3; times++) await page.keyboard.down('g');
  await page.keyboard.up('g');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/');
});
