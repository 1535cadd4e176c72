import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Setting } from '../../schema/config.ts';
import { namedRolesFolder, rolesFolder } from './roles.ts';

let workspace: string;
let shippedDir: string;
beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), 'squad-folder-'));
  shippedDir = join(workspace, 'shipped');
  await mkdir(shippedDir);
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

const unset: Setting<string | null> = { value: null, origin: 'default', source: 'default' };
const byVariable = (value: string): Setting<string | null> => ({
  ...{ value, origin: 'environment', source: 'SQUAD_AGENTS_DIR' },
});
const chosen = async (agentsDirSetting = unset) =>
  (await namedRolesFolder(workspace, agentsDirSetting)) ?? rolesFolder(workspace, shippedDir);

describe('rolesFolder', () => {
  it('takes the first place that exists', { tags: ['A7'] }, async () => {
    expect(await chosen()).toMatchObject({ directory: shippedDir, from: 'shipped', charters: false });
    await mkdir(join(workspace, '.squad', 'agents'), { recursive: true });
    expect(await chosen()).toMatchObject({
      ...{ directory: join(workspace, '.squad', 'agents'), from: 'squad_folder', charters: true },
    });
    await mkdir(join(workspace, 'agents'));
    expect(await chosen()).toMatchObject({
      ...{ directory: join(workspace, 'agents'), from: 'workspace', charters: false },
    });
    await mkdir(join(workspace, 'mine'));
    expect(await chosen(byVariable('mine'))).toEqual({
      directory: join(workspace, 'mine'),
      from: 'setting',
      why: 'set in SQUAD_AGENTS_DIR',
      charters: false,
    });
  });

  it('reads charters from .squad/agents also when it is named', { tags: ['B11'] }, async () => {
    await mkdir(join(workspace, '.squad', 'agents'), { recursive: true });
    expect(await chosen(byVariable('.squad/agents/'))).toMatchObject({ charters: true });
  });

  it('does not fall back from a folder that was named and is not there', async () => {
    await writeFile(join(workspace, 'file'), '');
    for (const value of ['gone', 'file', '/no/such/folder'])
      await expect(chosen(byVariable(value))).rejects.toMatchObject({
        code: 'ROLES_MISSING',
        message: expect.stringContaining('set in SQUAD_AGENTS_DIR'),
      });
  });

  it('passes over a file where a folder should be', async () => {
    await writeFile(join(workspace, 'agents'), '');
    expect(await chosen()).toMatchObject({ from: 'shipped' });
  });

  it('says so when there are no roles anywhere', async () => {
    await rm(shippedDir, { recursive: true });
    await expect(chosen()).rejects.toMatchObject({ code: 'ROLES_MISSING' });
  });
});
