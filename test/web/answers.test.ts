import { beforeAll, expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad } from '../support/git-squad.ts';
import { until } from '../support/squad.ts';
import { seriousFindings, startRun, useWebUi } from '../support/web-ui.ts';

const squad = new GitSquad({ coder: '---\ndescription: Codes\nisolation: worktree\n---\nYou code.' });
const webUi = useWebUi(squad);
const runs = { good: '', hostile: '', huge: '' };

const done = (run: string) =>
  until(`${run} is done`, async () => {
    const shown = await askHub<{ run: { status: string } }>(squad, 'show_run', { run });
    return shown.run.status === 'completed';
  });

const FENCE = '~~~';
const GOOD = [
  '# Retries',
  '',
  'See `src/retry.ts:2` and src/other.ts:9, or [the guide](https://example.com/guide).',
  '',
  '- [x] written',
  '- [ ] **tested**',
  '',
  '| case | result |',
  '| --- | --- |',
  '| slow | ok |',
  '',
  `${FENCE}ts`,
  'const tries = 3;',
  FENCE,
];
const HOSTILE = [
  '<script>document.title = "owned"</script><img src=x onerror="document.title=\'owned\'">',
  '',
  '![pixel](https://example.com/pixel.png) ![](data:image/svg+xml,<svg/onload=alert(1)>)',
  '',
  '[click](javascript:document.title="owned") [data](data:text/html,<script>1</script>) [file](file:///etc/passwd)',
  '[https://good.example](https://evil.example/x) <javascript:alert(1)> [rel](/api/board) [ref][r]',
  '',
  '[r]: JaVaScRiPt:alert(1)',
  '',
  '<a href="javascript:alert(1)">raw</a><iframe src="https://example.com"></iframe><form action=/api><style>*{display:none}</style>',
  '',
  'name\u202egnp.exe and `code\u200b` <svg><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
];
const report = (lines: string[]) => [`report ${lines[0]}`, ...lines.slice(1).map(line => `| ${line}`)];

beforeAll(async () => {
  runs.good = await startRun(squad, 'Add retries', [
    'write src/retry.ts',
    '| export const retries = 3;',
    '| export const pause = 200;',
    ...report(GOOD),
  ]);
  runs.hostile = await startRun(squad, 'Be hostile', report(HOSTILE));
  runs.huge = await startRun(squad, 'Say much', [
    'run node -e "console.log(1)"',
    `report ${'# many words in **bold** '.repeat(20)}`,
    ...Array.from({ length: 3_000 }, (_, at) => `| ${at} ${'word `code` '.repeat(120)}`),
  ]);
  for (const run of Object.values(runs)) await done(run);
});

test('an answer is rendered above the steps, with code to copy and links into the diff', async () => {
  const page = await webUi.open(`/r/${runs.good}`);
  const answer = page.locator('.answer .markdown');
  await answer.getByRole('heading', { name: 'Retries' }).waitFor();
  expect(await answer.locator('table td').allTextContents()).toEqual(['slow', 'ok']);
  expect(await answer.locator('li').allTextContents()).toEqual(['☑ written', '☐ tested']);
  const link = answer.getByRole('link', { name: /the guide/ });
  expect(await link.textContent()).toBe('the guide (example.com) ↗');
  expect(await link.getAttribute('rel')).toContain('noopener');
  // Only a file that the run changed can be opened.
  expect(await answer.getByRole('link', { name: 'src/other.ts:9' }).count()).toBe(0);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await answer.getByRole('button', { name: 'Copy code' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('const tries = 3;');
  await page.getByText('1 file changed').waitFor();
  expect(await page.locator('.step').first().isVisible()).toBe(false);
  await page.locator('.steps-fold summary').click();
  await page.locator('.step').first().waitFor();
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await seriousFindings(page)).toEqual([]);
  }
  await answer.getByRole('link', { name: 'src/retry.ts:2' }).click();
  await page.locator('.diff-row.is-target', { hasText: 'pause = 200' }).waitFor();
});

test('an answer runs nothing, loads nothing, and hides no address', async () => {
  const page = await webUi.open(`/r/${runs.hostile}`);
  const answer = page.locator('.answer .markdown');
  await answer.getByText('<script>document.title').waitFor();
  const tags = await answer.evaluate(box => [...box.querySelectorAll('*')].map(one => one.localName));
  expect(tags.filter(tag => !/^(p|a|code|br|span)$/.test(tag))).toEqual([]);
  const links = await answer.locator('a').evaluateAll(all => all.map(one => (one as HTMLAnchorElement).href));
  expect(links).toEqual(['https://evil.example/x']);
  expect(await answer.locator('a').textContent()).toBe('https://good.example (evil.example) ↗');
  expect(await answer.textContent()).toContain('name<U+202E>gnp.exe and code<U+200B>');
  expect(await page.title()).not.toContain('owned');
});

test('a very long answer opens and stays readable', async () => {
  const page = await webUi.open(`/r/${runs.huge}`);
  await page.locator('.answer', { hasText: 'many words' }).waitFor();
  await page.getByText('The middle is left out here').waitFor();
});

test('the page of a squad has the answer of every member', async () => {
  const { run } = await askHub<{ run: { squadId: string } }>(squad, 'show_run', { run: runs.good });
  const page = await webUi.open(`/s/${run.squadId}`);
  await page.locator('.squad-answers .markdown').getByRole('heading', { name: 'Retries' }).waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});
