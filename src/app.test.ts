import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { askHub } from '../test/support/ask-hub.ts';
import { startHub } from './app.ts';

test('a hub in the process of its caller runs an agent, answers on its socket and leaves nothing open', async () => {
  const before = process.getActiveResourcesInfo();
  const root = mkdtempSync(join(tmpdir(), 'squad-app-'));
  const [home, workspace] = [join(root, 'home'), join(root, 'workspace')];
  mkdirSync(join(workspace, 'roles'), { recursive: true });
  writeFileSync(join(workspace, 'roles', 'coder.md'), 'You code.');
  const env = {
    ...{ HOME: root, PATH: process.env.PATH!, SQUAD_HOME: home },
    ...{ ENGINE_COMMAND: 'scripted', SQUAD_AGENTS_DIR: 'roles' },
  };
  const options = {
    home,
    env: { ...env },
    version: '0.0.0-test',
    programs: join(import.meta.dirname, '..', 'dist'),
  };
  const hub = await startHub(options);
  const squad = { home, workspace, env };

  expect(await askHub(squad, 'hub_status')).toMatchObject({ pid: process.pid, version: '0.0.0-test', home });
  expect(await startHub(options)).toBeNull();
  const members = [{ roleId: 'coder', task: '```script\nsay done\n```' }];
  const { runIds } = await askHub<{ runIds: string[] }>(squad, 'start_squad', { members });
  await askHub(squad, 'wait_for_runs', { runs: runIds });
  const shown = await askHub(squad, 'show_run', { run: runIds[0] });
  expect(shown).toMatchObject({ run: { status: 'completed' } });

  await hub!.stop('the test is over');
  expect(await hub!.ended).toBe(true);
  await expect.poll(() => process.getActiveResourcesInfo().toSorted()).toEqual(before.toSorted());
  rmSync(root, { recursive: true });
});
