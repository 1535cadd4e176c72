import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { askHub } from '../support/ask-hub.ts';
import { TestSquad, until } from '../support/squad.ts';
import { startRun, useWebUi } from '../support/web-ui.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const bin = join(squad.root, 'bin');
const told = (name: string) => join(squad.root, name);
mkdirSync(bin);

/** Stands in for a terminal: writes down its words, and runs what it is to show. */
function layTerminal(name: string, last: string): void {
  const file = join(bin, name);
  writeFileSync(
    file,
    `#!/bin/sh\nprintf '%s\\n' "$@" > ${told('argv.new')}; env > ${told('env')}\nmv ${told('argv.new')} ${told('argv')}\n${last}\n`,
  );
  chmodSync(file, 0o755);
}
layTerminal('xterm', `shift; exec "$@" > ${told('shown')} 2>&1`);
const withScreen = {
  PATH: `${bin}:${process.env.PATH}`,
  ...{ DISPLAY: ':99', TERMINAL: 'xterm', TMUX: '/nowhere,1,0' },
};
/** Pages that are opened from now on have the screen of this terminal, or none. */
const openFrom = (env: Record<string, string>) => void Object.assign(squad.env, env);

const webUi = useWebUi(squad);

test('a run is saved as one file, after its effect was said', async () => {
  const run = await startRun(squad, 'Save me', ['report All of it.']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}`);
  await page.getByRole('button', { name: /^Save as a file/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Save as a file' });
  await dialog.getByText(/one HTML file/).waitFor();
  await dialog.getByText(`squad export ${run}`, { exact: true }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Save' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`squad-${run}.html`);
  const file = await download.path();
  await page.getByText(`Downloading squad-${run}.html.`).waitFor();
  const opened = await page.context().newPage();
  renameSync(file, `${file}.html`);
  await opened.goto(`file://${file}.html`);
  await opened.getByText('All of it.').first().waitFor();
});

test('a run that is gone by then is said in the dialog, which stays', async () => {
  const run = await startRun(squad, 'Goes away', ['report x']);
  await squad.run(['wait', run]);
  const page = await webUi.open(`/r/${run}`);
  webUi.expectErrors(/404/);
  await page.route('**/api/ticket', route =>
    route.request().postData()?.includes('export')
      ? route.continue({ postData: JSON.stringify({ purpose: 'export', run: 'run_nosuchrun0' }) })
      : route.continue(),
  );
  await page.getByRole('button', { name: /^Save as a file/ }).waitFor();
  await page.keyboard.press('S');
  const dialog = page.getByRole('dialog', { name: 'Save as a file' });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog
    .getByText(/run_nosuchrun0/)
    .first()
    .waitFor();
});

test('a running run is opened in a terminal window, which is no part of the run', async () => {
  openFrom(withScreen);
  const run = await startRun(squad, 'Look at me', ['say words in the window', 'hang']);
  const page = await webUi.open(`/r/${run}`);
  await page.getByRole('button', { name: /^Open in a terminal/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Open in a terminal' });
  await dialog.getByText(/^Opens a window of xterm on your screen, which shows it running/).waitFor();
  await dialog.getByText(`squad attach ${run}`, { exact: true }).waitFor();
  expect(existsSync(told('argv'))).toBe(false);
  await dialog.getByRole('button', { name: 'Open terminal' }).click();
  await page.getByText(`Opened xterm with squad attach ${run}.`).waitFor();
  const argv = readFileSync(told('argv'), 'utf8').trimEnd().split('\n');
  expect([argv[0], ...argv.slice(3)]).toEqual(['-e', 'attach', run, '--window']);
  expect(argv[2]).toMatch(/squad\.cjs$/);
  const env = readFileSync(told('env'), 'utf8');
  expect(env).toContain('DISPLAY=:99');
  expect(env).toContain(`SQUAD_HOME=${squad.home}`);
  expect(env).not.toMatch(/^(TMUX|SQUAD_RUN_ID|SQUAD_TURN|SQUAD_TOKEN\w*)=/m);
  await until('it shows the run', () => /words in the window/.test(readFileSync(told('shown'), 'utf8')));
  await askHub(squad, 'cancel_run', { spawn_id: run });
  const { stdout } = await squad.run(['show', run, '--json']);
  expect(JSON.parse(stdout).turns.flatMap((turn: { leftovers: unknown[] }) => turn.leftovers)).toEqual([]);
});

test('a terminal that fails at once is reported in the dialog, with the command to type', async () => {
  layTerminal('broken', 'exit 1');
  openFrom({ ...withScreen, TERMINAL: 'broken' });
  const run = await startRun(squad, 'No window', ['hang']);
  const page = await webUi.open(`/r/${run}`);
  webUi.expectErrors(/502/);
  await page.getByRole('button', { name: /^Open in a terminal/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Open in a terminal' });
  await dialog.getByRole('button', { name: 'Open terminal' }).click();
  await dialog.getByText(/No window was opened: .*broken ended at once \(exit 1\)/).waitFor();
  await askHub(squad, 'cancel_run', { spawn_id: run });
});

test('without a screen there is the command to copy, and why', async () => {
  openFrom({ ...withScreen, DISPLAY: '', WAYLAND_DISPLAY: '' });
  const run = await startRun(squad, 'No screen', ['hang']);
  const page = await webUi.open(`/r/${run}`);
  await page.getByRole('button', { name: /^Open in a terminal/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Open in a terminal' });
  await dialog.getByText(/has no screen \(neither DISPLAY nor WAYLAND_DISPLAY is set\)/).waitFor();
  await dialog.getByText(`squad attach ${run}`, { exact: true }).waitFor();
  expect(await dialog.getByRole('button', { name: 'Open terminal' }).count()).toBe(0);
  await askHub(squad, 'cancel_run', { spawn_id: run });
});
