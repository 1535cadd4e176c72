import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { echoBlock } from '../servers/start.ts';
import { TestSquad } from '../support/squad.ts';
import { seriousFindings, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const webUi = useWebUi(squad);

beforeAll(async () => {
  const config = {
    servers: { echo: echoBlock() },
    agentServers: { coder: ['echo'] },
    toolRestrictions: { coder: { echo: { exclude: ['cuont'] }, ecko: { exclude: ['count'] } } },
  };
  squad.write('.squad/mcp-config.json', JSON.stringify(config, null, 2));
  await squad.run(['trust', '-y', '.squad/mcp-config.json']);
  // An entry can only be held against tools that were listed.
  await squad.run(['mcp', 'tools', '--role', 'coder']);
});

const opened = (theme: 'light' | 'dark') =>
  webUi.open(`/gateway?${new URLSearchParams({ w: squad.workspace })}`, { theme });
const entry = (page: Page, name: string) => page.locator('article.pending', { hasText: name });

test.each(['light', 'dark'] as const)(
  'entries that name nothing that exists are warnings with what they mean, readable in %s',
  async theme => {
    const page = await opened(theme);
    await page.locator('main', { hasText: 'There is no tool "cuont" in echo' }).waitFor();
    await page.locator('main', { hasText: 'There is no server "ecko"' }).waitFor();
    const unmatched = entry(page, 'echo/cuont');
    await unmatched.getByText('unmatched').waitFor();
    await unmatched.getByText('toolRestrictions.coder.echo.exclude names it').waitFor();
    const dangling = entry(page, 'ecko/toolRestrictions.coder');
    await dangling.getByText('dangling').waitFor();
    await dangling.getByText('Did you mean "echo"?').waitFor();
    await dangling.getByText('The tools of all servers are hidden from the role coder.').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  },
);

test('approving an entry asks first, keeps it as written, and shows the tools it had hidden', {
  tags: ['B3'],
}, async () => {
  const page = await opened('light');
  for (const [name, left] of [
    ['ecko/toolRestrictions.coder', 1],
    ['echo/cuont', 0],
  ] as const) {
    await page.getByRole('button', { name: `Approve ${name}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The entry stays as it is').waitFor();
    await dialog.getByText(`squad mcp approve ${name}`).waitFor();
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await entry(page, name).waitFor({ state: 'detached' });
    expect(await page.locator('article.pending').count()).toBe(left);
  }
  const { tools } = await squad.json<{ tools: { tool: string; isVisible: boolean }[] }>([
    ...['mcp', 'tools', '--role', 'coder'],
  ]);
  expect(tools.find(({ tool }) => tool === 'count')?.isVisible).toBe(true);
});
