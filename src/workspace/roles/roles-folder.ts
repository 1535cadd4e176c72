import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Setting } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';

export interface RolesFolder {
  directory: string;
  from: 'setting' | 'workspace' | 'squad_folder' | 'shipped';
  /** Why this one, for people. */
  why: string;
  /** Roles may also be `<id>/charter.md`. */
  charters: boolean;
}

export interface RolesPlaces {
  workspace: string;
  agentsDirSetting: Setting<string | null>;
  shippedDir: string;
}

/** The first that exists wins; a folder the user named must exist. */
export async function rolesFolder({
  workspace,
  agentsDirSetting,
  shippedDir,
}: RolesPlaces): Promise<RolesFolder> {
  if (agentsDirSetting.value !== null)
    return named(resolve(workspace, agentsDirSetting.value), agentsDirSetting.source);
  const own = join(workspace, 'agents');
  if (await isFolder(own))
    return { directory: own, from: 'workspace', why: 'the workspace has agents/', charters: false };
  const squad = join(workspace, '.squad', 'agents');
  if (await isFolder(squad))
    return {
      directory: squad,
      from: 'squad_folder',
      why: 'the workspace has .squad/agents/',
      charters: true,
    };
  if (await isFolder(shippedDir))
    return {
      directory: shippedDir,
      from: 'shipped',
      why: 'the workspace has no roles of its own',
      charters: false,
    };
  throw new SquadError(
    'ROLES_MISSING',
    `There is no roles folder in ${workspace}, and the roles that come with Squad are missing.`,
    {
      suggestions: ['Reinstall Squad, create agents/ in the workspace, or set SQUAD_AGENTS_DIR.'],
    },
  );
}

async function named(directory: string, source: string): Promise<RolesFolder> {
  if (!(await isFolder(directory)))
    throw new SquadError(
      'ROLES_MISSING',
      `The roles folder ${directory}, set in ${source}, does not exist.`,
      {
        suggestions: [`Make the folder, or change or remove the setting in ${source}.`],
      },
    );
  const charters = directory.endsWith(join('.squad', 'agents'));
  return { directory, from: 'setting', why: `set in ${source}`, charters };
}

async function isFolder(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => null);
  return info?.isDirectory() ?? false;
}
