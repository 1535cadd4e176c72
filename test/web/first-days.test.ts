import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { GitSquad, script, userGit } from '../support/git-squad.ts';
import { TestSquad } from '../support/squad.ts';
import { seriousFindings, startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);

test('a view that fails to load offers a retry; without a hub it waits, and the next hub has another origin', async () => {
  webUi.expectErrors(/ERR_|Failed to load resource|WebSocket connection|request to/);
  const page = await webUi.open('/');
  await page.route(/cost-page/, route => route.abort());
  await page.getByRole('link', { name: 'Cost' }).first().click();
  const problem = page.locator('main .problem');
  // The tab reloads once by itself. A click while it does so would be lost.
  await page.waitForFunction(
    () => (performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming).type === 'reload',
  );
  await problem.getByText('This view could not be loaded').waitFor();
  // Other views are as they were.
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
  await page.goBack();
  await problem.waitFor();
  await page.unroute(/cost-page/);
  await problem.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Cost' }).waitFor();
  expect(await page.locator('main .problem').count()).toBe(0);
  // Nothing ever ran: there is no cost to be unknown.
  expect(await page.locator('.today').count()).toBe(0);

  const other = await webUi.open('/');
  await other.route(/cost-page/, route => route.abort());
  await squad.run(['hub', 'stop']);
  await other.locator('.banner', { hasText: 'The hub was stopped' }).getByText('squad open').waitFor();
  await other.getByRole('link', { name: 'Cost' }).first().click();
  await other.locator('main .problem', { hasText: 'the hub does not answer' }).waitFor();
  await other.getByRole('button', { name: 'Try again' }).click();
  // The toast is above the banner and covers no part of it.
  const isAbove = () =>
    other.evaluate(() => {
      const [toast, banner] = ['.toast', '.banner'].map(name =>
        document.querySelector(name)?.getBoundingClientRect(),
      );
      return toast && banner ? toast.bottom <= banner.top : null;
    });
  await expect.poll(isAbove).toBe(true);
  await other.unroute(/cost-page/);
  await webUi.restart();
  await other.locator('.banner', { hasText: 'The hub that served this page has stopped' }).waitFor();
  await webUi.enter(other, '/cost');
  await other.getByRole('heading', { name: 'Cost' }).waitFor();
});

test('the empty page checks engine, roles and git, opens a folder, and starts the demo', async () => {
  const page = await webUi.open('/');
  const first = page.locator('.first-run');
  await first.getByText('No runs yet').waitFor();
  await first.getByLabel('Project folder').fill('relative');
  await first.getByRole('button', { name: 'Open' }).click();
  await first.getByRole('alert').waitFor();
  await first.getByLabel('Project folder').fill(squad.workspace);
  await first.getByRole('button', { name: 'Open' }).click();
  await first.locator('.first-checks li', { hasText: 'Engine: scripted' }).waitFor();
  await first.locator('.first-checks li', { hasText: 'coder' }).waitFor();
  await first.locator('.first-checks li', { hasText: 'Not a git repository' }).waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFindings(page)).toEqual([]);
  }
  await first.getByRole('button', { name: 'Start the demo' }).click();
  await page.waitForURL(/\/s\/squad_/);
  await page.getByRole('heading', { name: /Demo/ }).waitFor();
  await page.getByText('One of two tests fails').first().waitFor();
});

describe('without an engine', () => {
  const bare = new TestSquad({ PATH: '/usr/bin:/bin' });
  const bareUi = useWebUi(bare);

  test('the empty page says so before a task is typed', async () => {
    const page = await bareUi.open(`/?w=${encodeURIComponent(bare.workspace)}`);
    const engine = page.locator('.first-checks li').first();
    await engine.getByText('missing').waitFor();
    await engine.getByText('How to install one').click();
    await engine.getByText('Claude Code').first().waitFor();
  });
});

test.each(['/r/%', '/r/%E0%A4%A', '/s/%'])('an address that cannot be read says so: %s', async path => {
  const page = await webUi.blank();
  await webUi.enter(page, '/');
  await page.goto(`${webUi.origin}${path}`);
  await page.getByText('Invalid address').waitFor();
  await page.locator('main').getByRole('link', { name: 'All runs' }).click();
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor({ state: 'attached' });
});

test('a filter may be called status, and a word that is no need is named', async () => {
  const failed = await startRun(squad, 'Look at auth', ['exit 1']);
  const other = await startRun(squad, 'Look at auth too', ['report fine']);
  await squad.run(['wait', failed, other]);
  const page = await webUi.open('/?status=failed&q=auth');
  await page.locator(`[data-run=${failed}]`).waitFor();
  expect(await page.locator('[data-run]').count()).toBe(1);
  await page.locator('.chips [aria-current]', { hasText: 'failed' }).waitFor();
  await page.goto(`${webUi.origin}/?status=nonsense`);
  await page.getByText('Unknown filter nonsense').waitFor();
  await page.locator(`[data-run=${other}]`).waitFor();
});

test('the web UI opens at the project, if the folder is one', async () => {
  const page = await webUi.blank();
  await page.goto(await webUi.address());
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor({ state: 'attached' });
  expect(new URL(page.url()).searchParams.get('w')).toBe(squad.workspace);
  const elsewhere = join(squad.root, 'elsewhere');
  mkdirSync(elsewhere);
  const { stdout } = await squad.run(['open', '--no-browser'], { cwd: elsewhere });
  expect(new URL(stdout.trim()).search).toBe('');
});

test('a run is started with what was chosen, and the fields say what is wrong with them', async () => {
  webUi.expectErrors(/400.*api\/roles/);
  const page = await webUi.open('/');
  await page.keyboard.press('N');
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  const folder = dialog.getByRole('combobox', { name: 'Folder' });
  const field = (name: RegExp) => dialog.locator('label', { hasText: name }).getByRole('combobox');
  const role = field(/^Role/);
  await folder.fill('my/project');
  await dialog.getByText('Folder must be an absolute path').waitFor();
  await dialog.locator('.twin', { hasText: '--workspace my/project' }).waitFor();
  await folder.fill('/no/such/folder');
  await dialog.getByText(/^Folder \/no\/such\/folder /).waitFor();
  expect(await dialog.textContent()).not.toContain('Squad-Workspace');
  await folder.fill(squad.workspace);
  await role.selectOption('qa-engineer');
  await dialog.getByLabel('Task').fill(`Say it${script('report said')}`);
  await dialog.locator('summary', { hasText: 'Options' }).click();
  await field(/^Engine/).selectOption('scripted');
  await field(/^Permission/).selectOption('read');
  await dialog.getByLabel(/Budget/).fill('0.5');
  await dialog.locator('.twin', { hasText: '--engine scripted --permission read --budget 0.5' }).waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.locator('h1', { hasText: 'Say it' }).waitFor();
  await page.goto(`${page.url()}/details`);
  await page.locator('.details', { hasText: '$0.5' }).waitFor();
  await page.keyboard.press('N');
  await expect.poll(() => role.inputValue()).toBe('qa-engineer');
});

test('keys lead to what failed and back to the list as it was', async () => {
  const failed = await startRun(squad, 'Break first', ['exit 1']);
  const fine = await startRun(squad, 'Work', ['report fine']);
  const broken = await startRun(squad, 'Break second', ['exit 1']);
  await squad.run(['wait', failed, fine, broken]);
  const page = await webUi.open('/?q=Break');
  await page.locator(`[data-run=${failed}]`).waitFor();
  const focused = () =>
    page.evaluate(() => document.activeElement?.closest<HTMLElement>('[data-run]')?.dataset.run);
  await page.keyboard.press('n');
  expect(await focused()).toBe(broken);
  await page.keyboard.press('n');
  expect(await focused()).toBe(failed);
  await page.keyboard.press('p');
  expect(await focused()).toBe(broken);
  await page.keyboard.press('Enter');
  await page.locator('h1', { hasText: 'Break second' }).waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(url => url.pathname === '/' && url.searchParams.get('q') === 'Break');
});

test('colours of a terminal in what an agent says are shown, not obeyed', async () => {
  const run = await startRun(squad, 'Make \u001b[31mit\u001b[0m red', [
    'report \u001b[1mdone\u001b[0m \u0007',
  ]);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}`);
  await page.locator('h1', { hasText: 'Make ␛[31mit␛[0m red' }).waitFor();
  await page.goto(webUi.origin);
  await page.locator(`[data-run=${run}]`, { hasText: 'Make ␛[31mit␛[0m red' }).waitFor();
});

test('a line that is not there is said not to be', async () => {
  const run = await startRun(squad, 'Say little', ['say one', 'report two']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}/output?raw=1#L5000`);
  await page.getByText('Line 5,000 does not exist. This is the last line.').waitFor();
});

test('without git there is nothing to compare with, which is no error', async () => {
  webUi.expectErrors(/502/);
  const run = await startRun(squad, 'Write', ['report written']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}/changes`);
  await page.getByText('The folder is not in a git repository').waitFor();
  await page.locator('.empty .copy', { hasText: 'git init' }).waitFor();
  expect(await page.locator('main .problem').count()).toBe(0);
});

test.each([{ width: 360 }, { width: 1280 }])(
  'a run with many reviewers shows three of them: $width',
  async ({ width }) => {
    const run = await startRun(squad, 'Have it reviewed', ['report done']);
    await squad.run(['wait', run]);
    const page = await webUi.blank({ width });
    await page.route(/\/api\/squads\/squad_/, async route => {
      const response = await webUi.fetched(route);
      const answer = await response.json();
      const [first] = answer.runs;
      for (let at = 0; at < 11; at++)
        answer.runs.push({ ...first, id: `run_reviewer0${at}`, reviewOf: run, parentId: null });
      await route.fulfill({ response, json: answer });
    });
    await webUi.enter(page, `/r/${run}`);
    await page.locator('.run-kin', { hasText: 'squad of 12' }).waitFor();
    expect(await page.locator('.run-children li').count()).toBe(3);
    await page.getByRole('button', { name: 'and 8 more' }).click();
    expect(await page.locator('.run-children li').count()).toBe(11);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  },
);

describe('in a repository', () => {
  const git = new GitSquad({ coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.' });
  const own = useWebUi(git);
  let run: string;

  beforeAll(async () => {
    run = await startRun(git, 'Change a little', ['write new.ts', '| first', '| second', 'report done']);
    await git.run(['wait', run]);
  });

  test('half a comment outlives a reload, until it is kept or given up', async () => {
    const page = await own.open(`/r/${run}/changes`);
    const row = page.locator('.diff-row', { hasText: 'second' });
    const box = page.locator('.diff-box textarea');
    await row.focus();
    await page.keyboard.press('m');
    await page.keyboard.type('Half a');
    await page.reload();
    await expect.poll(() => box.inputValue()).toBe('Half a');
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'detached' });
    await page.reload();
    await row.waitFor();
    expect(await box.count()).toBe(0);
    const levels = await page
      .locator('main :is(h1, h2, h3)')
      .evaluateAll(all => all.map(one => Number(one.tagName[1])));
    for (const [at, level] of levels.entries()) expect(level - (levels[at - 1] ?? 0)).toBeLessThanOrEqual(1);
  });

  test('comments have a key, and merging looks on a run as it does on its squad', async () => {
    own.expectErrors(/ERR_FAILED/);
    const page = await own.blank();
    // The view must not depend on the styles of another view.
    await page.route(/squad-page/, route => route.abort());
    await own.enter(page, `/r/${run}`);
    await page.getByRole('button', { name: /^Comment/ }).waitFor();
    await page.keyboard.press('M');
    await page.waitForURL(/changes$/);
    await page.getByRole('button', { name: /Merge|Integrate/ }).waitFor();
    await page.keyboard.press('i');
    const merge = page.locator('.merge');
    await merge.locator('.checklist li').first().waitFor();
    expect(await merge.evaluate(one => getComputedStyle(one).borderTopStyle)).toBe('solid');
    expect(await merge.locator('.checklist li').first().textContent()).toMatch(/^(ok|bad|open) /);
    await page.keyboard.press('Escape');
    await merge.waitFor({ state: 'detached' });
  });

  test('a folder that was removed is said to be gone', async () => {
    own.expectErrors(/502/);
    const folder = join(git.root, 'removed');
    mkdirSync(folder);
    userGit(folder, git.env, 'init', '-q', '-b', 'main');
    userGit(folder, git.env, 'commit', '-q', '--allow-empty', '-m', 'First');
    git.role('plain', 'You work.');
    const { stdout } = await git.run(['run', 'plain', `Work${script('report done')}`, '--workspace', folder]);
    const id = /run_\w+/.exec(stdout)![0];
    rmSync(folder, { recursive: true });
    const page = await own.open(`/r/${id}/changes`);
    await page.getByText('The folder was removed').waitFor();
    expect(await page.locator('main .problem').count()).toBe(0);
  });
});
