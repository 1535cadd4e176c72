import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script, scriptOf } from '../support/git-squad.ts';
import { until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: `---\ntype: review\n---\nYou review.${script('say looking at it', 'hang')}`,
});
const webUi = useWebUi(squad);

const ask = (message: string) => `call request_review ${JSON.stringify({ completion_message: message })}`;
const reviewsOf = async (run: string) =>
  (
    await askHub<{
      reviews: { iteration: number; outcome: string; feedback: string; feedbackBy: string }[];
    }>(squad, 'show_review', { run })
  ).reviews;
const promptOf = async (run: string) =>
  (await askHub<{ run: { turn: number } }>(squad, 'show_run', { run })).run.turn;

/** Written once, fixed once, each time with a review. */
const start = () =>
  startRun(
    squad,
    `Add a retry${script('write src/retry.ts', '| export const times = 1;', '| export const wait = 0;', ask('A retry is there.'))}${scriptOf(
      2,
      ...['run cat REVIEW_FEEDBACK.md', 'write src/retry.ts', '| export const times = 3;'],
      ...['| export const wait = 0;', ask('Three times now.')],
    )}${scriptOf(3, 'report Approved by a person.')}`,
  );

test('a round is sent back, another approved; the coder continues after each, and rounds are shown side by side', {
  tags: ['D9'],
}, async () => {
  const run = await start();
  const page = await webUi.open('/reviews');
  const open = page.locator('.open-review', { hasText: 'Add a retry' });
  await open.getByText('A retry is there.').waitFor();
  await open.getByRole('button', { name: 'Send back' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/Closes round 1 with your decision. Its reviewer is stopped/).waitFor();
  await dialog.getByLabel('Requested changes').fill('Three times, please.');
  await dialog.getByText(`squad review ${run} --type needs_work --feedback 'Three times, please.'`).waitFor();
  await dialog.getByRole('button', { name: 'Send back' }).click();

  await open.getByText('Three times now.').waitFor();
  await page.keyboard.press('a');
  await dialog.getByText(/Closes round 2/).waitFor();
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('No open reviews.').waitFor();
  await squad.run(['wait', run]);
  expect(await reviewsOf(run)).toMatchObject([
    { iteration: 1, outcome: 'needs_work', feedback: 'Three times, please.', feedbackBy: 'user' },
    { iteration: 2, outcome: 'approved', feedbackBy: 'user' },
  ]);
  expect(await promptOf(run)).toBe(3);

  await page.getByRole('link', { name: 'Add a retry' }).first().click();
  const rounds = page.locator('.round');
  await rounds.nth(1).getByText('approved').first().waitFor();
  await rounds.nth(0).getByText('Three times, please.').waitFor();
  const [first, second] = [await rounds.nth(0).boundingBox(), await rounds.nth(1).boundingBox()];
  expect(second!.x).toBeGreaterThanOrEqual(first!.x + first!.width);
  await rounds.nth(1).getByRole('button', { name: 'Changes since the previous round' }).click();
  await page.getByText('Round 2 of 3, 1 sent back; the task is abandoned after 5 of these').waitFor();
  const changed = rounds.nth(1).locator('.diff-row');
  await changed.filter({ hasText: 'times = 3' }).waitFor();
  await changed.filter({ hasText: 'times = 1' }).waitFor();
});

test('a squad says whom a reviewer reviews, and on a small screen nothing of its timeline is over another part', async () => {
  const run = await start();
  await until('it is being reviewed', async () => (await reviewsOf(run)).length === 1);
  const { squadId } = (await askHub<{ run: { squadId: string } }>(squad, 'show_run', { run })).run;
  const page = await webUi.open(`/s/${squadId}`, { width: 360 });
  const row = page.locator('.agent-row', { hasText: 'Review: Add a retry' });
  const first = row.locator('.agent-first');
  await first.waitFor();
  expect(await first.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  await page.locator('.timeline .mark').first().waitFor();
  const places = (selector: string) =>
    page
      .locator(selector)
      .evaluateAll(all => all.map(one => one.getBoundingClientRect().toJSON() as DOMRect));
  const parts = [
    await places('.timeline-label'),
    await places('.timeline-box .mark'),
    await places('.timeline .bar'),
  ];
  // Wherever in time they are: each kind has a band of its own in every row.
  const over = (one: DOMRect, other: DOMRect) => one.top < other.bottom && other.top < one.bottom;
  for (const [index, some] of parts.entries())
    for (const others of parts.slice(index + 1))
      expect(some.filter(one => others.some(other => over(one, other)))).toEqual([]);
  await squad.run(['cancel', run]);
});

test('comments on lines of an open review go back to the coder with the lines they are about', async () => {
  const run = await start();
  await until('it is being reviewed', async () => (await reviewsOf(run)).length === 1);
  const page = await webUi.open(`/r/${run}/changes`);
  await page.locator('.diff-row', { hasText: 'times = 1' }).waitFor();
  for (const [key, words] of [
    ['n', 'Three times'],
    ['j', 'Wait a second'],
  ] as const) {
    await page.keyboard.press(key);
    await page.keyboard.press('m');
    await page.keyboard.type(words);
    await page.keyboard.press('Control+Enter');
    await page.locator('.diff-remark', { hasText: words }).waitFor();
  }
  // They outlive a reload.
  await page.reload();
  await page.getByRole('button', { name: 'Send 2 comments' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(new RegExp(`squad comment ${run} src/retry.ts:1 'Three times'`)).waitFor();
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await page.locator('.toast', { hasText: 'Sent as feedback.' }).waitFor();
  await page.locator('.send-bar').waitFor({ state: 'detached' });
  await until('it has the second round', async () => (await reviewsOf(run)).length === 2);
  const [{ feedback } = { feedback: '' }] = await reviewsOf(run);
  for (const part of [
    'src/retry.ts:1',
    'export const times = 1;',
    'Three times',
    'src/retry.ts:2',
    'Wait a second',
  ])
    expect(feedback).toContain(part);
  const { text } = await askHub<{ text: string }>(squad, 'read_output', { run, turn: 2, stream: 'stdout' });
  expect(text).toContain('Wait a second');
  await page.getByRole('button', { name: /^Approve/ }).click();
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await page.locator('.run-facts', { hasText: 'done' }).waitFor();
});

test('unsent comments are mentioned before the round is approved, and go along when it is sent back', async () => {
  const run = await start();
  await until('it is being reviewed', async () => (await reviewsOf(run)).length === 1);
  const page = await webUi.open(`/r/${run}/changes`);
  await page.locator('.diff-row', { hasText: 'times = 1' }).waitFor();
  await page.keyboard.press('n');
  await page.keyboard.press('m');
  await page.keyboard.type('Three times');
  await page.keyboard.press('Control+Enter');
  await page.getByText('1 comment not sent yet').waitFor();
  const dialog = page.getByRole('dialog');
  const bar = page.locator('.decision-bar');
  await bar.getByRole('button', { name: /^Approve/ }).waitFor();
  await page.keyboard.press('A');
  await dialog.getByText(/1 comment on lines is not sent yet, and approving does not send it/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Reviews' }).first().click();
  await page
    .locator('.open-review', { hasText: 'Add a retry' })
    .getByRole('button', { name: 'Approve' })
    .click();
  await dialog.getByText(/approving does not send it/).waitFor();
  await page.keyboard.press('Escape');
  await page.goto(`${webUi.origin}/r/${run}/changes`);
  await bar.getByRole('button', { name: /^Send back/ }).click();
  await dialog.getByLabel('Include 1 comment not sent yet').waitFor();
  await dialog.getByText(`squad comment ${run} src/retry.ts:1 'Three times'`).waitFor();
  await dialog.getByRole('button', { name: 'Send back' }).click();
  await page.locator('.toast', { hasText: 'Sent back with your comments.' }).waitFor();
  await page.locator('.send-bar').waitFor({ state: 'detached' });
  await until('it has the second round', async () => (await reviewsOf(run)).length === 2);
  const [first] = await reviewsOf(run);
  expect(first).toMatchObject({ outcome: 'needs_work', feedbackBy: 'user' });
  for (const part of ['src/retry.ts:1', 'Three times']) expect(first!.feedback).toContain(part);
  await squad.run(['cancel', run]);
});

test('two tabs decide on the same round: the second one approves nothing that it has not shown', async () => {
  webUi.expectErrors(/4\d\d/);
  const run = await start();
  await until('it is being reviewed', async () => (await reviewsOf(run)).length === 1);
  const first = await webUi.open(`/r/${run}/changes`);
  const second = await webUi.blank({ beside: first });
  await second.goto(`${webUi.origin}/r/${run}/changes`);
  const dialogIn = async (page: Page, action: string, line: string) => {
    await page.locator('.diff-row', { hasText: line }).waitFor();
    await page.locator('.decision-bar').getByRole('button', { name: action }).click();
    return page.getByRole('dialog', { name: action });
  };
  const approval = await dialogIn(second, 'Approve', 'times = 1');
  await approval.waitFor();
  const refusal = await dialogIn(first, 'Send back', 'times = 1');
  await refusal.getByLabel('Requested changes').fill('Three times, please.');
  await refusal.getByRole('button', { name: 'Send back' }).click();
  await until('the next round is open', async () => (await reviewsOf(run)).length === 2);

  await approval.getByRole('button', { name: 'Approve' }).click();
  await approval.getByText(`Round 1 of run ${run} is over, and round 2 is open now`).waitFor();
  expect(await reviewsOf(run)).toMatchObject([{ outcome: 'needs_work' }, { outcome: null }]);
  await second.keyboard.press('Escape');
  const known = await dialogIn(second, 'Approve', 'times = 3');
  await known.getByRole('button', { name: 'Approve' }).click();
  await until('it is approved', async () => (await reviewsOf(run))[1]?.outcome === 'approved');
  // The other tab follows.
  await first.locator('.run-facts', { hasText: 'done' }).waitFor();
});

test('the palette finds a review by what is to be done with it', async () => {
  const run = await start();
  await until('it is being reviewed', async () => (await reviewsOf(run)).length === 1);
  const page = await webUi.open('/');
  await page.keyboard.press('Control+k');
  const typed = page.getByRole('combobox', { name: 'Search commands, views and runs' });
  const first = page.locator('.palette-entry').first();
  await typed.fill('send back');
  await first.getByText('Send back: Add a retry').waitFor();
  await typed.fill('approve');
  await first.getByText('Approve: Add a retry').waitFor();
  await typed.fill('cancel add');
  await first.getByText('Cancel: Add a retry').waitFor();
  await typed.fill('approve add');
  await first.getByText('Approve: Add a retry').waitFor();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Approve this round' });
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await until('it is approved', async () => (await reviewsOf(run))[0]?.outcome === 'approved');
  await squad.run(['cancel', run]);
});

test('a coder whose reviews ran out needs the user in the list, on its page and in its squad', async () => {
  await squad.set('review.max_iterations', '1');
  try {
    const run = await startRun(
      squad,
      `Out of reviews${script('write b.ts', '| 1', ask('Done.'))}${scriptOf(2, 'report I am finished.')}`,
    );
    await until('it is being reviewed', async () => (await reviewsOf(run)).length === 1);
    await squad.run(['review', run, '--feedback', 'Not yet.', '--type', 'needs_work']);
    await squad.run(['wait', run]);
    const { squadId } = (await askHub<{ run: { squadId: string } }>(squad, 'show_run', { run })).run;
    const page = await webUi.open('/');
    const row = page.locator(`.run[data-run="${run}"]`);
    await row.locator('.status.tone-ask', { hasText: 'needs you' }).waitFor();
    await row.getByText(`squad review ${run} --abandon`).waitFor();
    await page.goto(new URL(`/r/${run}`, page.url()).href);
    await page.locator('.run-head .status.tone-ask', { hasText: 'needs you' }).waitFor();
    await page.locator('.run-why.tone-ask', { hasText: 'Maximum review iterations (1) reached' }).waitFor();
    await page.getByText('I am finished.').first().waitFor();
    expect(await page.locator('.failure').count()).toBe(0);
    await page.goto(new URL(`/s/${squadId}`, page.url()).href);
    const member = page.locator('.agent-row', { hasText: 'Out of reviews' });
    await member.locator('.status.tone-ask', { hasText: 'needs you' }).first().waitFor();
    await page.goto(new URL('/inbox', page.url()).href);
    await page.getByText('No open questions').waitFor();
    await page.getByRole('link', { name: '1 run at its review limit' }).click();
    await row.waitFor();
  } finally {
    await squad.set('review.max_iterations', '3');
  }
});
