import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { finishedRun } from '../../bench/sample-runs.ts';
import { openStore } from '../../src/store/open.ts';
import { TestSquad } from '../support/squad.ts';
import { useWebUi } from '../support/web-ui.ts';

const RUNS = 1_000;
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const ids: string[] = [];

beforeAll(async () => {
  mkdirSync(squad.home, { recursive: true });
  const store = await openStore({ database: join(squad.home, 'squad.db'), version: 'test' });
  const changes = Array.from({ length: RUNS }, (_, at) =>
    finishedRun(squad.workspace, Date.now() - 3_600_000 - at * 60_000),
  );
  for (const [, , end] of changes) ids.push(end!.runs![0]!.id);
  await Promise.all(changes.flat().map(change => store.commit(change)));
  await store.close();
});
const webUi = useWebUi(squad);

test('a long list is loaded to its last run by scrolling alone', async () => {
  const page = await webUi.open('/');
  await page.locator(`[data-run=${ids[0]}]`).waitFor();
  await expect
    .poll(
      async () => {
        await page.keyboard.press('End');
        return page.getByRole('button', { name: 'show more' }).count();
      },
      { timeout: 60_000 },
    )
    .toBe(0);
  await page.locator(`[data-run=${ids[RUNS - 1]}]`).waitFor();
  expect(await page.locator('[data-run]').count()).toBe(RUNS);
  // The browser checks lists for whether they are visible, which is fast only if they are few.
  expect(await page.locator('.board').count()).toBe(RUNS / 50);
  const numbers = await page.locator('.board').evaluateAll(all => all.map(one => one.getAttribute('start')));
  expect(numbers.slice(0, 3)).toEqual(['1', '51', '101']);
  // Keys move from one list to the next.
  await page.keyboard.press('Home');
  for (let at = 0; at <= 50; at++) await page.keyboard.press('j');
  const focused = () => page.evaluate(() => document.activeElement?.closest('li')?.dataset.run);
  expect(await focused()).toBe(ids[50]);
});
