import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newSchema } from '../../src/store/fixtures/temp-database.ts';
import { GitSquad } from '../support/git-squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const env: Record<string, string> = {};
const here = new GitSquad({ coder: 'You code.' }, env);
const there = new GitSquad({ coder: 'You code.' }, env);
// The hub of the web UI starts before all other hooks.
beforeAll(async () => {
  const database = await newSchema();
  for (const squad of [here, there]) squad.env.SQUAD_DATABASE_URL = database;
  await there.hubPid();
});
const webUi = useWebUi(here);
afterAll(() => there[Symbol.asyncDispose]());

test('the web UI shows a run of another hub live, answers its question and says where it is', {
  tags: ['H7'],
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'squad-go-'));
  const go = (name: string) => join(folder, name);
  const own = await startRun(here, 'Own', ['report done']);
  const page = await webUi.open('/');
  const row = (run: string) => page.locator(`[data-run=${run}]`);
  await row(own).getByText(`:${here.home}`).waitFor();

  const run = await startRun(there, 'Elsewhere', [
    'say first line',
    `await ${go('one')}`,
    'say second line',
    'ask "Which one?" red blue',
    `await ${go('two')}`,
    'report finished there',
  ]);
  await row(run).getByText(`:${there.home}`).waitFor();
  const output = await webUi.open(`/r/${run}/output`);
  await output.locator('.out').getByText('first line').waitFor();
  writeFileSync(go('one'), '');
  await output.locator('.out').getByText('second line').waitFor();
  await row(run).getByRole('button', { name: 'blue' }).click();
  await row(run).locator('button[title=answered]').first().waitFor();
  writeFileSync(go('two'), '');
  await output.locator('.run-facts', { hasText: 'done' }).waitFor();
  await output.goto(`${webUi.origin}/r/${run}`);
  await output.getByText('finished there').first().waitFor();
  await row(run).getByText('done').first().waitFor();
  expect(await there.statusOf(run)).toBe('completed');
});
