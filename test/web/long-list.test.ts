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
});
