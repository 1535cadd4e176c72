import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import { withLock } from '../files/file-lock.ts';
import { resolveInside } from '../files/paths.ts';
import { unwritten } from '../files/text-file.ts';
import { trust } from '../settings/trust.ts';
import { replaceTeamFile, teamFolder } from '../team/team-file.ts';
import { mayCount, mcpConfigPath, readMcpConfig } from './mcp-config-file.ts';
import { requireMcpConfig } from './parse-mcp-config.ts';

/** Beside the file: where editors find what may stand in it. */
export const SCHEMA_NAME = 'mcp-config.schema.json';

/** A configuration to begin with. */
export const EMPTY_MCP_CONFIG = `${JSON.stringify({ $schema: `./${SCHEMA_NAME}`, servers: {} }, null, 2)}\n`;

export interface ChangedConfig {
  file: string;
  /** False: the text before waited for trust, and so does the new one. */
  isTrusted: boolean;
}

/** The text and what it says; where there is no file, that of an empty one. */
export interface CurrentConfig {
  text: string;
  config: McpConfig;
  isNew: boolean;
}

/** Throws CONFIG_INVALID. */
export async function currentMcpConfig(workspace: string): Promise<CurrentConfig> {
  const file = mcpConfigPath(workspace);
  const read = await readMcpConfig(workspace);
  if ('fault' in read)
    throw new SquadError('CONFIG_INVALID', `${file} ${read.fault}.`, {
      suggestions: ['Fix or remove the file, then try again. Nothing was written.'],
    });
  const text = 'text' in read ? read.text : EMPTY_MCP_CONFIG;
  return { text, config: requireMcpConfig(file, text), isNew: 'missing' in read };
}

/** Held while a command of ours changes a configuration: until then its text and the trust in it may not fit together. */
export const changeLock = (home: string): string => join(home, 'mcp-config.lock');

/**
 * Replaces the file whole with what `edit` makes of it; what that throws leaves it as it is. Who trusted what stood there
 * trusts their own change to it, and nobody else's.
 */
export async function changeMcpConfig(
  home: string,
  workspace: string,
  edit: (before: CurrentConfig) => string,
): Promise<ChangedConfig> {
  const file = mcpConfigPath(workspace);
  return withLock(changeLock(home), async () => {
    const before = await currentMcpConfig(workspace);
    const after = edit(before);
    refuseMoreMistakes(file, before.config, requireMcpConfig(file, after));
    const isTrusted = before.isNew || (await mayCount(home, file, before.text, before.config));
    const target = await placeToWrite(workspace);
    // Editors know nothing of the lock.
    unlessChanged(workspace, before, await currentMcpConfig(workspace));
    await replaceTeamFile(target, Buffer.from(after));
    if (isTrusted) await trust(home, target, after);
    return { file, isTrusted };
  }).catch(thrown => {
    throw unwritten(file, thrown);
  });
}

/** A change of ours leaves mistakes that were there, and makes none. */
function refuseMoreMistakes(file: string, before: McpConfig, after: McpConfig): void {
  const made = Object.entries(after.disabled ?? {}).find(([id]) => !Object.hasOwn(before.disabled ?? {}, id));
  if (made)
    throw new SquadError('CONFIG_INVALID', `${file} would be wrong: ${made[1].fault}. Nothing was written.`);
}

/** Throws where the file is not any more what was shown to the user, or was read for a change of it. */
export function unlessChanged(workspace: string, before: CurrentConfig, now: CurrentConfig): void {
  if (now.text !== before.text || now.isNew !== before.isNew)
    throw new SquadError(
      'CONFIG_INVALID',
      `${mcpConfigPath(workspace)} was changed meanwhile. Nothing was written.`,
      { suggestions: ['Run the command again.'] },
    );
}

/** The file itself, links resolved: a link inside the workspace stays a link. */
async function placeToWrite(workspace: string): Promise<string> {
  const file = mcpConfigPath(workspace);
  const place = await resolveInside(workspace, file);
  if ('real' in place) return place.real;
  await mkdir(dirname(file), { recursive: true });
  const folder = await teamFolder(workspace);
  if (folder === null) throw new SquadError('CONFIG_INVALID', `${dirname(file)} is not a folder.`);
  return join(folder, basename(file));
}
