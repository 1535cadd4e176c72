/**
 * Takes screenshots of every view of the web UI for docs/guides/hub/web-ui.md, in both themes, with a running scripted
 * team. Arguments select single views. With `--look FOLDER` every view is taken 1440 and 360 pixels wide, for somebody who
 * checks how it looks.
 */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { startModelServer } from '../test/engines/model-server/server.ts';
import { TestBox } from '../test/support/box.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { userGit } from '../test/support/git-squad.ts';
import { planChange } from '../test/support/planning-subagent.ts';
import { installClaude, saveChat } from '../test/support/saved-chat.ts';
import { type Team, TeamSquad } from '../test/support/team.ts';
import { webKey } from '../test/support/web-key.ts';
import { smallPng } from './small-png.ts';

const { values, positionals: named } = parseArgs({
  options: { look: { type: 'string' } },
  allowPositionals: true,
});
const FOLDER = values.look ?? join(import.meta.dirname, '..', 'docs', 'images', 'web');
const MAX_BYTES = values.look ? Number.POSITIVE_INFINITY : 120_000;

interface Picture {
  name: string;
  path(shown: Team & { planned: string; empty: string }): string;
  /** Selector of an element that is visible when the page can be photographed. */
  ready: string;
  width?: number;
  /** Steps before the screenshot. */
  act?(page: Page): Promise<void>;
}

const showMachines = () => '/machines';

const PICTURES: Picture[] = [
  { name: 'runs', path: () => '/', ready: '.board > li >> nth=5' },
  { name: 'runs-360', path: () => '/', ready: '.board > li >> nth=5', width: 360 },
  { name: 'board', path: () => '/?view=board', ready: '.card >> nth=5', width: 1440 },
  { name: 'board-360', path: () => '/?view=board', ready: '.card >> nth=5', width: 360 },
  {
    name: 'first-run',
    path: ({ empty }) => `/?w=${encodeURIComponent(empty)}`,
    ready: '.first-checks li',
  },
  { name: 'inbox', path: () => '/inbox', ready: '.ask >> nth=1' },
  { name: 'squad', path: ({ squadId }) => `/s/${squadId}`, ready: '.squad-columns' },
  { name: 'answer', path: ({ done }) => `/r/${done}`, ready: '.answer .markdown' },
  { name: 'changes-360', path: ({ coder }) => `/r/${coder}/changes`, ready: '.hl-keyword', width: 360 },
  { name: 'activity', path: ({ coder }) => `/r/${coder}/activity`, ready: '.step >> nth=3' },
  { name: 'output', path: ({ coder }) => `/r/${coder}/output?turn=1`, ready: '.out-line >> nth=5' },
  { name: 'changes', path: ({ coder }) => `/r/${coder}/changes`, ready: '.hl-keyword' },
  { name: 'details', path: ({ coder }) => `/r/${coder}/details`, ready: '.details' },
  { name: 'review', path: ({ coder }) => `/r/${coder}/review`, ready: '.round >> nth=1' },
  { name: 'failure', path: ({ failed }) => `/r/${failed}`, ready: '.failure pre' },
  { name: 'reviews', path: () => '/reviews', ready: '.open-review' },
  { name: 'merge', path: () => '/merge', ready: '.merge tbody tr' },
  { name: 'backlog', path: () => '/backlog', ready: '.backlog-item' },
  { name: 'decisions', path: () => '/decisions', ready: '.decision-list li' },
  { name: 'cost', path: () => '/cost', ready: '.cost table' },
  { name: 'gateway', path: () => '/gateway', ready: '.gateway td' },
  { name: 'machines', path: showMachines, ready: '.machine-problem' },
  { name: 'machines-360', path: showMachines, ready: '.machine-problem', width: 360 },
  { name: 'chats', path: () => '/chats', ready: '.chats td' },
  { name: 'events', path: () => '/events', ready: '.events li, .events tr' },
  { name: 'search', path: () => '/search?q=upload', ready: '.search-view li' },
  { name: 'settings', path: () => '/settings', ready: '.settings table' },
  {
    name: 'compose',
    path: () => '/',
    ready: '.board > li >> nth=5',
    async act(page) {
      await page.keyboard.press('N');
      await page.locator('.start-applies').waitFor();
      await page.keyboard.type('Retry failed uploads three times');
      await page.keyboard.press('Control+Shift+Enter');
      await page.keyboard.type('Break the upload with a slow server');
    },
  },
  {
    name: 'palette',
    path: () => '/',
    ready: '.board > li >> nth=5',
    async act(page) {
      await page.keyboard.press('Control+k');
      await page.locator('dialog [role=option]').nth(5).waitFor();
      await page.keyboard.type('upload');
      await page.locator('dialog [role=option]', { hasText: 'upload' }).first().waitFor();
    },
  },
];

/** The conversation needs its own run, so its screenshot is taken last. */
const CONVERSATION: Picture = {
  name: 'conversation',
  path: ({ planned }) => `/r/${planned}/conversation`,
  ready: '.said-call >> nth=2',
  async act(page) {
    await page.locator('.said-call summary').nth(1).click();
  },
};

const isWanted = ({ name }: Picture) =>
  named.length > 0 ? named.includes(name) : !(values.look && name.endsWith('-360'));

const nameAt = (name: string, width: number | undefined): string => (values.look ? `${name}-${width}` : name);

mkdirSync(FOLDER, { recursive: true });
await using squad = new TeamSquad();
// A chat can be resumed only if the model has a key.
squad.env.MODEL_KEY = 'fake';
installClaude(squad);
const CHATS = {
  '3f0e6a52-8d1c-4b7a-9e6f-2c4d5e6f7a8b': 'Why do uploads of large files fail on slow networks?',
  'b81d2c40-0a5e-4a36-9a1e-6f2f6f0c7d11': 'Sketch a progress bar for uploads',
  '5c9d7e13-6f0b-4a88-8f55-0d1c2b3a4e5f': 'Which of our dependencies are unmaintained?',
};
for (const [at, [id, prompt]] of Object.entries(CHATS).entries())
  saveChat(squad, id, prompt, { at: Date.now() - (at + 1) * 5_400_000 });
await squad.hubPid();
const team = await squad.work();
const empty = join(squad.root, 'new-project');
userGit(squad.root, squad.env, 'init', '-q', empty);
const { url } = await squad.json<{ url: string }>(['open', '--no-browser']);
const { origin } = new URL(url);
// Without this flag letters have coloured edges, which look wrong on other screens.
const browser = await launchChromium(['--disable-lcd-text']);
const boxes: TestBox[] = [];
try {
  if (PICTURES.some(picture => isWanted(picture) && picture.path === showMachines)) await addMachines();
  for (const picture of PICTURES.filter(isWanted)) await takeBoth(picture, '');
  if (isWanted(CONVERSATION)) {
    await using model = await startModelServer();
    await takeBoth(CONVERSATION, await planChange(squad, model));
  }
} finally {
  await browser.close();
  for (const box of boxes) {
    await box.stop();
    box.network.close();
  }
}

/** Two machines with agent CLIs that only print a version; one of them is switched off. */
async function addMachines(): Promise<void> {
  for (const [name, ...options] of [
    ['workstation', '--label', 'gpu=yes', '--slots', '4'],
    ['build-server', '--slots', '8'],
  ] as const) {
    const box = new TestBox(squad, name);
    boxes.push(box);
    await box.start();
    const bin = join(box.home, 'bin');
    mkdirSync(bin);
    for (const cli of ['claude', 'codex'])
      writeFileSync(join(bin, cli), '#!/bin/sh\necho 1.2.3\n', { mode: 0o755 });
    appendFileSync(join(box.home, '.profile'), `PATH=${bin}:$PATH\n`);
    const config = readFileSync(box.sshConfig, 'utf8').replace('Host box', `Host ${name}.example.com`);
    writeFileSync(box.sshConfig, config);
    const address = `${name}.example.com`;
    await squad.json(['machines', 'add', name, address, '--ssh-config', box.sshConfig, ...options]);
  }
  await boxes[1]!.stop();
  boxes[1]!.network.cut();
}

async function takeBoth(picture: Picture, planned: string): Promise<void> {
  const path = picture.path({ ...team, planned, empty });
  const widths = values.look ? [1440, 360] : [picture.width];
  for (const theme of ['light', 'dark'] as const)
    for (const width of widths)
      await take(browser, { ...picture, width, name: nameAt(picture.name, width) }, path, theme);
}

async function take(
  browser: Browser,
  picture: Picture,
  path: string,
  theme: 'light' | 'dark',
): Promise<void> {
  const { name, ready, width = 1280, act } = picture;
  const context = await browser.newContext({
    ...{ viewport: { width, height: 800 }, colorScheme: theme, reducedMotion: 'reduce' },
    ...{ locale: 'en-GB', timezoneId: 'UTC' },
  });
  const page = await context.newPage();
  await page.goto(`${origin}${path}${await webKey(squad)}`);
  await page.locator(ready).first().waitFor();
  await page.locator('.connection.live').waitFor();
  await act?.(page);
  await page.waitForLoadState('networkidle');
  const file = join(FOLDER, `${name}-${theme}.png`);
  const small = smallPng(
    await page.screenshot({ animations: 'disabled', caret: 'hide', fullPage: values.look !== undefined }),
  );
  await context.close();
  if (small.length >= MAX_BYTES)
    throw new Error(`${name} has ${small.length} bytes: a picture has less than ${MAX_BYTES}`);
  writeFileSync(file, small);
  console.log(`${name}-${theme}.png  ${Math.round(small.length / 1000)} kB`);
}
