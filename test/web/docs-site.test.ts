import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vitepress';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { seriousFindings } from '../support/web-ui.ts';

const root = resolve(import.meta.dirname, '..', '..');
const SITE = join(root, 'docs', '.vitepress', 'dist');
const TYPES: Record<string, string> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  png: 'image/png',
};

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url!, 'http://site');
  const file = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
  try {
    const content = await readFile(join(SITE, decodeURIComponent(file)));
    response.setHeader('Content-Type', TYPES[file.split('.').at(-1)!] ?? 'application/octet-stream');
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
});

let browser: Browser;
let origin: string;
beforeAll(async () => {
  // Fails at a dead link.
  await build(join(root, 'docs'));
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchChromium();
}, 600_000);
afterAll(async () => {
  await browser?.close();
  server.close();
});

/** Opens a page of the site; a request that fails or leaves this machine fails the test. */
async function open(path: string): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', error => problems.push(error.message));
  page.on('request', request => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) problems.push(request.url());
  });
  page.on('response', response => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(`${origin}${path}`, { waitUntil: 'networkidle' });
  return { page, problems };
}

describe.each([
  ['the start page', '/'],
  ['the index', '/docs/'],
  ['a tutorial', '/docs/tutorials/first-squad.html'],
  ['a guide with tables and code', '/docs/guides/gateway/mcp-servers.html'],
  ['a reference', '/docs/reference/configuration.html'],
  ['a page from the root of the repository', '/ARCHITECTURE.html'],
])('%s', (_, path) => {
  test('can be used by everybody, in light and in dark, and is as wide as a phone', async () => {
    const { page, problems } = await open(path);
    expect(await seriousFindings(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html.dark').waitFor();
    expect(await seriousFindings(page, ['color-contrast'])).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(360);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

/** The text of each page is different. Its frame and the colours are those of the pages above. */
test('every page can be read by everybody', async () => {
  const names = readdirSync(SITE, { recursive: true, encoding: 'utf8' }).filter(
    name => name.endsWith('.html') && name !== '404.html',
  );
  expect(names.length).toBeGreaterThan(100);
  // Files for programs are no pages.
  expect(names.filter(name => /^(plugin|roles|templates)\//.test(name))).toEqual([]);
  // One page with the checker and the frame, whose text is replaced: to load these each time takes longer than the check.
  const page = await browser.newPage();
  // The text is there without them.
  await page.route('**/*.js', route => route.abort());
  await page.goto(`${origin}/docs/`);
  await page.addScriptTag({ path: join(root, 'node_modules', 'axe-core', 'axe.min.js') });
  const findings: string[] = [];
  for (const name of names)
    findings.push(...(await page.evaluate(findingsIn, `/${name}`)).map(each => `${name}: ${each}`));
  expect(findings).toEqual([]);
  await page.close();
}, 600_000);

interface Checker {
  run(part: string, options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
}

/** Runs in the browser: puts the text of another page into this one, and checks it. */
async function findingsIn(path: string): Promise<string[]> {
  const source = await (await fetch(path)).text();
  const text = new DOMParser().parseFromString(source, 'text/html').querySelector('main')!;
  document.querySelector('main')!.replaceWith(document.adoptNode(text));
  const { axe } = globalThis as unknown as { axe: Checker };
  const { violations } = await axe.run('main', {
    resultTypes: ['violations'],
    rules: { 'color-contrast': { enabled: false } },
  });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

test('search finds a guide by its words', async () => {
  const { page, problems } = await open('/docs/');
  await page.keyboard.press('Control+k');
  await page.locator('.VPLocalSearchBox input').fill('refs/squad/saved');
  await page.locator('[role=option] a[href*="worktree-removal"]').first().waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});

test('the sidebar has every page of the index but recipes', async () => {
  const { page } = await open('/docs/');
  const pathsOf = (links: string) =>
    page.locator(links).evaluateAll(all => all.map(link => (link as HTMLAnchorElement).pathname));
  const sidebar = new Set(await pathsOf('.VPSidebar a'));
  const listed = (await pathsOf('.VPDoc main a')).filter(path => /^\/docs\/[a-z]+\//.test(path));
  expect(listed.length).toBeGreaterThan(30);
  expect(listed.filter(path => !sidebar.has(path) && !path.includes('/recipes/'))).toEqual([]);
  await page.context().close();
});
