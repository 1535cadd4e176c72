import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { visibleText } from '../../src/base/text.ts';
import type { ShownItem } from '../../src/operations/inbox/inbox.ts';
import { MARK, MARKUP as XSS } from '../attacks/corpus/markup.ts';
import { figure } from '../faults/figures.ts';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script, scriptOf } from '../support/git-squad.ts';
import { asciiJson, HIDDEN_CASES, hiddenLines, shownLines } from '../support/hidden-characters.ts';
import { installClaude, saveChat } from '../support/saved-chat.ts';
import { until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

/** Markup, a script, terminal escapes that set a title, a turned reading direction, all in one line. */
const MARKUP = '<img src=x onerror=alert(1)><script>document.title="taken"</script><b class=hostile>';
const LINE = `${MARKUP}\u202e\u2066\u001b[31mred\u001b]0;taken\u0007\u009b1m`;
/** With a NUL, which only files and output can hold: it is refused everywhere else. */
const HOSTILE = `${LINE}\u0000`;
/** In a name of a file or a branch there is no slash and no NUL, in a branch no space either. */
const FILE = '<img src=x onerror=alert(1)>\u202e.ts';
const BRANCH = '<img/onerror=alert(1)>\u202e<b-class=hostile>';

/** A NUL would make the file a binary one, which has no lines to show. */
const HIDDEN = HIDDEN_CASES.filter(({ text }) => text !== '\0');
const WORDS = [...hiddenLines(HIDDEN), ...XSS].join('\n');

const squad = new GitSquad({
  coder: '---\ntype: coding\nisolation: worktree\nmcp: [squad/squad_decision_record]\n---\nYou code.',
  reviewer: '---\ntype: review\n---\nYou review.',
});
installClaude(squad);
saveChat(squad, '11111111-1111-4111-8111-111111111111', LINE);
const webUi = useWebUi(squad);
const runs: Record<'coder' | 'failed' | 'asks', string> = { coder: '', failed: '', asks: '' };
let squadId: string;

beforeAll(async () => {
  squad.write(
    '.squad/backlog.md',
    `## Next ${HOSTILE}\n\n- [ ] Do ${HOSTILE} [P1] @coder\n  Notes ${HOSTILE}\n`,
  );
  squad.write(
    '.squad/decisions.md',
    `### 2026-02-01: Use ${HOSTILE}\n**By:** ${HOSTILE}\n**What:** ${HOSTILE}\n`,
  );
  // Agents read a file of the test.
  await squad.set('sandbox.default', 'off');
  const hidden = join(squad.root, 'hidden.txt');
  writeFileSync(hidden, `${WORDS}\n`);
  const feedback = asciiJson({
    ...{ feedback: `Nearly. ${LINE}\n${WORDS}`, feedback_type: 'needs_work', priority: 'high' },
    actionable_items: [`Fix ${LINE}`],
  });
  const review = asciiJson({
    reviewer_prompt: script(`say looking ${LINE}`, `call send_feedback ${feedback}`),
    completion_message: `Done. ${LINE}\n${WORDS}`,
  });
  const decision = JSON.stringify({ title: `Take ${LINE}`, what: LINE, why: LINE });
  runs.coder = await startRun(
    squad,
    `Build ${LINE}${script(
      ...[`write ${FILE}`, '| first line', `| second ${LINE}`],
      ...[
        `run git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m 'Commit ${MARKUP}\u202e'`,
      ],
      ...[
        `say words ${LINE}`,
        `stderr loud ${LINE}`,
        `run printf 'nothing \\0 in it\\n'`,
        `run cp ${hidden} hidden.txt`,
        `run cat ${hidden}`,
        `call no_such_tool_${MARKUP.replaceAll(' ', '_')}`,
      ],
      ...[`call squad_decision_record ${decision}`, `call request_review ${review}`],
    )}${scriptOf(2, `run git checkout -q -b '${BRANCH}'`, `report All of it ${LINE}`)}`,
  );
  runs.failed = await startRun(squad, `Break ${LINE}`, [
    // Of a command's output the agent says only so much.
    ...Array.from(
      { length: Math.ceil(WORDS.split('\n').length / 20) },
      (_, at) => `run sed -n ${at * 20 + 1},${at * 20 + 20}p ${hidden}`,
    ),
    `stderr last ${LINE}`,
    `fail broken ${LINE}`,
  ]);
  const question = {
    ...{ question: `Which ${LINE}?`, choices: [`one ${LINE}`, `two ${LINE}`] },
    ...{ details: `Know ${LINE}\n${WORDS}`, default: `one ${LINE}` },
  };
  // The call returns after a while without an answer; the question stays open as long as its run does.
  runs.asks = await startRun(squad, `Ask ${LINE}`, [`call ask_user ${asciiJson(question)}`, 'hang']);
  await squad.run(['wait', runs.coder, runs.failed]);
  await until('it asks', async () =>
    (await askHub<{ items: ShownItem[] }>(squad, 'list_inbox')).items.some(
      ({ runId }) => runId === runs.asks,
    ),
  );
  const { run } = await askHub<{ run: { squadId: string; status: string; notes: string[] } }>(
    squad,
    'show_run',
    {
      run: runs.coder,
    },
  );
  expect(run).toMatchObject({ status: 'completed', error: null });
  squadId = run.squadId;
});

/** Elements that the text created, and characters that act instead of being shown. */
const madeOf = (page: Page) =>
  page.evaluate(mark => {
    const active = /(?![\n\t])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/u;
    const elements = 'img, iframe, script, object, embed, base, meta, link, style, math, portal, .hostile';
    const found: string[] = [];
    const look = (text: string | null, where: string) => {
      if (text && active.test(text)) found.push(`${where}: ${JSON.stringify(text.slice(0, 120))}`);
    };
    for (const element of document.querySelectorAll('body *')) {
      const name = `${element.tagName.toLowerCase()}.${element.className}`;
      if (element.matches(elements)) found.push(name);
      for (const { name: attribute, value } of element.attributes)
        if (/^on/i.test(attribute) || /^\s*(javascript|data|vbscript):/i.test(value))
          found.push(`${name}[${attribute}]`);
      // `data-` attributes are for the web UI itself and are not shown.
      for (const attribute of element.attributes)
        if (!attribute.name.startsWith('data-')) look(attribute.value, `${name}[${attribute.name}]`);
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) look(node.nodeValue, name);
    }
    look(document.title, 'title');
    if (mark in window) found.push('a script has run');
    return found;
  }, MARK);

async function expectHarmless(page: Page): Promise<void> {
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor({ state: 'attached' });
  expect(await madeOf(page)).toEqual([]);
  // It may quote a run's title, and then has all of it: no script has set it to its own.
  expect(await page.title()).toMatch(/ · Squad$/);
}

const PLACES: [string, () => string, string][] = [
  ['the list of runs', () => '/', '.board > li >> nth=2'],
  ['the board', () => '/?view=board', '.card >> nth=2'],
  ['the inbox', () => '/inbox', '.ask'],
  ['the squad', () => `/s/${squadId}`, '.squad-page'],
  ['what it did', () => `/r/${runs.coder}/activity`, '.answer'],
  ['what it wrote', () => `/r/${runs.coder}/output`, '.out-line >> nth=2'],
  ['what it wrote, as it was', () => `/r/${runs.coder}/output?raw=1&turn=1`, '.out-line >> nth=2'],
  ['what it wrote on stderr', () => `/r/${runs.coder}/output?turn=1&stream=stderr`, '.out-line'],
  ['what it changed', () => `/r/${runs.coder}/changes`, '.diff-row'],
  ['its details', () => `/r/${runs.coder}/details`, '.details'],
  ['its review', () => `/r/${runs.coder}/review`, '.round'],
  ['a failure', () => `/r/${runs.failed}/activity`, '.failure pre'],
  ['a question', () => `/r/${runs.asks}/activity`, '.open-question'],
  ['reviews', () => '/reviews', '.reviews td'],
  ['the merge desk', () => '/merge', '.merge'],
  ['the backlog', () => '/backlog', '.backlog-item'],
  ['chats', () => '/chats', '.chats td'],
  ['decisions', () => '/decisions', '.decision-list li >> nth=1'],
  ['decisions that were looked for', () => '/decisions?search=red', '.decision-list li'],
  ['what a search finds', () => '/search?q=hostile', '.search-view li'],
  ['cost', () => '/cost', '.cost'],
  ['events', () => '/events', '.events li, .events tr'],
];

test.each(PLACES)(
  'in %s, no words of an agent are more than words',
  { tags: ['html-and-markdown-injection'] },
  async (_, path, ready) => {
    const page = await webUi.visit(path());
    await page.locator(ready).first().waitFor();
    await expectHarmless(page);
  },
);

let shownIn = 0;
const WHOLE: [string, () => string, string][] = [
  ['what it wrote', () => `/r/${runs.failed}/output?turn=1`, '.out-line'],
  ['what it changed', () => `/r/${runs.coder}/changes`, '.diff-file'],
  ['its review', () => `/r/${runs.coder}/review`, '.feedback'],
  ['the inbox', () => '/inbox', '.asked'],
  ['a question', () => `/r/${runs.asks}/activity`, '.asked'],
];

test.each(WHOLE)(
  'in %s, nothing hidden in a text is left out',
  { tags: ['terminal-escapes'] },
  async (_, path, place) => {
    const page = await webUi.visit(path());
    await page.locator(place).first().waitFor();
    const missing = async () => {
      const shown = await page.evaluate(() => document.body.textContent.replaceAll(/\s+/g, ''));
      return [...shownLines(HIDDEN), ...XSS.map(visibleText)].filter(
        line => !shown.includes(line.replaceAll(/\s+/g, '')),
      );
    };
    await expect.poll(missing).toEqual([]);
    expect(await madeOf(page)).toEqual([]);
    if (!path().includes('output')) await page.locator('.hidden-warning').first().waitFor();
    shownIn += 1;
  },
);

test('more than a hundred and fifty texts that would be scripts were tried, in every view that shows whole texts', {
  tags: ['R28', 'html-and-markdown-injection'],
}, () => {
  expect([XSS.length, new Set(XSS).size]).toEqual([expect.any(Number), XSS.length]);
  expect(XSS.length).toBeGreaterThanOrEqual(150);
  expect(shownIn).toBe(WHOLE.length);
  figure('R28', {
    reached: XSS.length,
    of: 150,
    told: `${XSS.length} script injections shown as text in ${shownIn} views of the web UI, none ran`,
  });
});

test('in dialogs, in what is said, in the palette and in pickers neither', {
  tags: ['html-and-markdown-injection'],
}, async () => {
  const page = await webUi.open('/');
  const row = page.locator(`[data-run=${runs.failed}]`);
  await row.waitFor();
  await row.getByRole('button', { name: /^Retry/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/as a new run/).waitFor();
  await expectHarmless(page);
  await dialog.getByRole('button', { name: 'Retry' }).click();
  await page.locator('.toast').waitFor();
  await expectHarmless(page);
  await page.keyboard.press('Control+k');
  await page.locator('dialog [role=option]').nth(5).waitFor();
  await page.keyboard.type('Build');
  await page.locator('dialog [role=option]', { hasText: 'Build' }).first().waitFor();
  await expectHarmless(page);
  await page.keyboard.press('Escape');
  await page.goto(`${webUi.origin}/inbox`);
  await page.locator('.ask-answers button').first().click();
  await page.locator('.settled li').first().waitFor();
  await page.locator('.toast').first().waitFor();
  await expectHarmless(page);
});
