import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { GitSquad, script, scriptOf } from '../support/git-squad.ts';
import { seriousFindings } from '../support/web-ui.ts';

const HOSTILE = '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>';

const squad = new GitSquad(
  {
    coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
    reviewer: '---\ntype: review\n---\nYou review.',
  },
  { SECRET_OF_THE_TEST: 'value-that-stays-here' },
);
let browser: Browser;
let run: string;
let file: string;

beforeAll(async () => {
  browser = await launchChromium();
  await squad.unlimited();
  const told = JSON.stringify({ feedback: `Nearly. ${HOSTILE}`, feedback_type: 'needs_work' });
  const ask = `call request_review ${JSON.stringify({ reviewer_prompt: script(`call send_feedback ${told}`) })}`;
  const task = `Build ${HOSTILE} \u2028 \u2029${script(
    'write src/a.txt',
    `| first line ${HOSTILE}`,
    '| second line',
    `say words ${HOSTILE}`,
    'say \u001b[31mred\u001b[0m \u001b]0;title\u0007 needle-one',
    'stderr \u001b[1mloud\u001b[0m words on stderr',
    ask,
  )}${scriptOf(2, 'say needle-two in the second turn', 'usage 1000 200 0 0.25', 'report All of it.')}`;
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', task]);
  run = runIds[0]!;
  expect((await squad.run(['wait', run])).code).toBe(0);
  expect((await squad.run(['export', run])).stdout.trim()).toBe(join(squad.workspace, `squad-${run}.html`));
  file = join(squad.workspace, `squad-${run}.html`);
});
afterAll(async () => {
  await browser?.close();
  await squad[Symbol.asyncDispose]();
});

/** Everything that must not happen on a page of a file. */
interface Seen {
  requests: string[];
  problems: string[];
}
let seen: Seen;
const pages: Page[] = [];
beforeEach(() => {
  seen = { requests: [], problems: [] };
  return () => Promise.all(pages.splice(0).map(page => page.context().close()));
});

async function open(path = '', from = file): Promise<Page> {
  const context = await browser.newContext({ offline: true, viewport: { width: 1200, height: 800 } });
  const page = await context.newPage();
  const address = pathToFileURL(from).href;
  page.on('request', request => {
    if (!request.url().startsWith(address) && !request.url().startsWith('data:'))
      seen.requests.push(request.url());
  });
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') seen.problems.push(message.text());
  });
  page.on('pageerror', error => seen.problems.push(String(error)));
  page.on('dialog', dialog => {
    seen.problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  pages.push(page);
  await page.goto(`${address}${path && `#${path}`}`);
  return page;
}

/** Nothing failed, nothing was fetched, nothing that was said was obeyed, and everybody can use it. */
async function expectQuiet(page: Page): Promise<void> {
  expect(await page.locator('[role=alert], .problem').allTextContents()).toEqual([]);
  expect(await seriousFindings(page)).toEqual([]);
  expect(seen).toEqual({ requests: [], problems: [] });
  expect(await page.title()).not.toBe('taken');
}

test.each([
  ['activity', 'All of it.'],
  ['output', 'needle-two in the second turn'],
  ['changes', 'second line'],
  ['details', 'Evidence'],
  ['review', 'Nearly. </script>'],
])(
  '%s is in the file, needs nothing else, and no words of an agent are more than words',
  async (tab, words) => {
    const page = await open(`/r/${run}/${tab}`);
    await page.getByText(words).first().waitFor();
    await expectQuiet(page);
  },
);

test('a small dark screen shows it as well', async () => {
  const page = await open(`/r/${run}/changes`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 360, height: 700 });
  await page.getByText('second line').waitFor();
  await expectQuiet(page);
  const wide = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  expect(wide).toBe(0);
});

test('the file opens with the run; links, keys, going back and reloading work as in the web UI', async () => {
  const page = await open();
  const tab = (name: string) => page.getByRole('link', { name, exact: true });
  await page.getByRole('heading', { name: 'Answer' }).waitFor();
  await tab('Changes').click();
  await page.getByText('second line').waitFor();
  await page.keyboard.press('2');
  await page.getByText('needle-two').waitFor();
  expect(page.url()).toBe(`${pathToFileURL(file).href}#/r/${run}/output`);
  await page.goBack();
  await page.getByText('second line').waitFor();
  await page.reload();
  await page.getByText('second line').waitFor();
  await page.getByRole('link', { name: /^squad of 2/ }).click();
  await page.getByRole('heading', { name: /Squad of 2 runs/ }).waitFor();
  expect(await page.getByRole('button', { name: /Cancel|Retry|Merge/ }).count()).toBe(0);
  await expectQuiet(page);
});

test('every output of every turn can be read, as words and as it was, and searched', async () => {
  const page = await open(`/r/${run}/output`);
  await page.getByLabel('Select turn').selectOption('1');
  await page.getByText('needle-one').waitFor();
  await page.getByRole('button', { name: /^raw/ }).click();
  await page.getByText('"needle-one').or(page.getByText('needle-one"')).first().waitFor();
  await page.getByRole('button', { name: /^search/ }).click();
  await page.getByRole('searchbox', { name: 'Search the output' }).fill('needle-one');
  await page.keyboard.press('Enter');
  await page.getByText(/^1 of \d+, line \d+: .*needle-one/).waitFor();
  await page.getByLabel('Select stream').selectOption('stderr');
  await page.getByText('loud').waitFor();
  expect(await page.locator('.ansi-bold').first().textContent()).toBe('loud');
  expect(page.url()).toMatch(/turn=1.*stream=stderr|stream=stderr.*turn=1/);
  await expectQuiet(page);
});

test('changes of a round are there; another run is not, and that is said', async () => {
  const page = await open(`/r/${run}/review`);
  await page.getByRole('button', { name: 'Changes' }).click();
  await page.getByText('second line').waitFor();
  expect(await page.getByRole('button', { name: 'Allow more rounds' }).count()).toBe(0);
  await page.getByRole('link', { name: 'reviewer' }).first().click();
  await page.getByText('Not included in this saved run').waitFor();
  expect(seen).toEqual({ requests: [], problems: [] });
});

test('in the file are neither values of the environment nor what lets anybody in', async () => {
  const text = readFileSync(file, 'utf8');
  await squad.hubPid();
  const { tokenFile } = await squad.json<{ tokenFile: string }>(['hub', 'status']);
  expect(text).not.toContain('value-that-stays-here');
  expect(text).not.toContain(readFileSync(tokenFile, 'utf8').trim());
  expect(text).not.toContain('tokenHash');
  expect(text.match(/<script/g)).toHaveLength(2);
  expect(statSync(file).mode & 0o077).toBe(0);
});

test('a file that is there is not written over unless that is asked for', async () => {
  writeFileSync(file.replace('.html', '.txt'), 'mine');
  const refused = await squad.run(['export', run, file.replace('.html', '.txt')]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/already exists.*--force/s);
  expect(readFileSync(file.replace('.html', '.txt'), 'utf8')).toBe('mine');
  const forced = await squad.json<{ file: string; bytes: number }>([
    'export',
    run.slice(0, 10),
    file.replace('.html', '.txt'),
    '--force',
  ]);
  expect(statSync(forced.file).size).toBe(forced.bytes);
  const { stdout, code } = await squad.run(['export', run, '-']);
  expect(code).toBe(0);
  expect(stdout.startsWith('<!doctype html>') && stdout.trimEnd().endsWith('</html>')).toBe(true);
  expect((await squad.run(['export', 'run_nosuchrun0'])).stderr).toMatch(/RUN_UNKNOWN/);
  expect(existsSync(join(squad.workspace, 'squad-run_nosuchrun0.html'))).toBe(false);
});

test('of a long output the end is there, with the numbers its lines had, and it says what is not', async () => {
  const env = {
    ENGINE_COMMAND: '',
    RUN_TEMPLATE: 'seq -f "line-%.0f of many, long enough to be too many" 1 200000',
  };
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'reviewer', 'Go.'], { env });
  expect((await squad.run(['wait', runIds[0]!])).code).toBe(0);
  const long = join(squad.root, 'long.html');
  const { stderr } = await squad.run(['export', runIds[0]!, long]);
  expect(stderr).toMatch(/^Left out: the first [\d.]+ MiB of stdout of turn 1\n$/);
  expect(statSync(long).size).toBeLessThan(16 * 1024 * 1024);
  const page = await open(`/r/${runIds[0]}/output`, long);
  await page.getByText('line-200000 of many').first().waitFor();
  await page.getByText('Parts of the run were left out').click();
  await page.getByText(/the first [\d.]+ MiB/).waitFor();
  await page.getByLabel('Go to line').fill('199000');
  await page.keyboard.press('Enter');
  await page.getByText('line-199000 of many').first().waitFor();
  expect(seen).toEqual({ requests: [], problems: [] });
});

test('a saved run says what could not be read when it was saved', async () => {
  const { runIds } = await squad.json<{ runIds: string[] }>(
    ['run', '-d', 'reviewer', `Go.${script('fail broken on purpose')}`],
    { cwd: squad.root },
  );
  expect((await squad.run(['wait', runIds[0]!])).code).toBe(1);
  const out = join(squad.root, 'failed.html');
  await squad.run(['export', runIds[0]!, out]);
  const page = await open('', out);
  await page.getByText('broken on purpose').first().waitFor();
  await page.getByRole('link', { name: 'Changes', exact: true }).click();
  await page.getByText('The folder is not in a git repository').waitFor();
  expect(seen).toEqual({ requests: [], problems: [] });
});
