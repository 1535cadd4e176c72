import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import { withLock } from '../files/file-lock.ts';
import { resolveInside } from '../files/paths.ts';
import { unwritten } from '../files/text-file.ts';
import { trust } from '../settings/trust.ts';
import { replaceTeamFile, teamFolder } from '../team/team-file.ts';
import { mayCount, mcpConfigPath, readMcpConfig, requireMcpConfig } from './mcp-config-file.ts';

/** Name of the schema file next to the configuration. Editors use it for completion. */
export const SCHEMA_NAME = 'mcp-config.schema.json';

export const EMPTY_MCP_CONFIG = `${JSON.stringify({ $schema: `./${SCHEMA_NAME}`, servers: {} }, null, 2)}\n`;

export interface ChangedConfig {
  file: string;
  /** Whether the user trusted the previous text. If not, the new text is not trusted either. */
  isTrusted: boolean;
}

/**
 * Text of the configuration file and its parsed content. If there is no file, both are those of an empty
 * configuration.
 */
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

/**
 * Lock that Squad's commands hold while they change a configuration, because text and trust do not match in between.
 */
export const changeLock = (home: string): string => join(home, 'mcp-config.lock');

/**
 * Replaces the whole file with the result of `edit`. If `edit` throws, the file stays unchanged. If the user trusted
 * the previous text, the new text is trusted too.
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
    const target = await placeToWrite(workspace, file);
    // The file is checked again, because editors do not use Squad's lock.
    unlessChanged(workspace, before, await currentMcpConfig(workspace));
    await replaceTeamFile(target, Buffer.from(after));
    if (isTrusted) await trust(home, target, after);
    return { file, isTrusted };
  }).catch(thrown => {
    throw unwritten(file, thrown);
  });
}

/** Existing mistakes in the file may stay, but a change by Squad must not add one. */
function refuseMoreMistakes(file: string, before: McpConfig, after: McpConfig): void {
  const made = Object.entries(after.disabled ?? {}).find(([id]) => !Object.hasOwn(before.disabled ?? {}, id));
  if (made)
    throw new SquadError(
      'CONFIG_INVALID',
      `The change would make ${file} invalid: ${made[1].fault}. Nothing was written.`,
    );
}

/** Throws if the file has changed since it was shown to the user or read for the change. */
export function unlessChanged(workspace: string, before: CurrentConfig, now: CurrentConfig): void {
  if (now.text !== before.text || now.isNew !== before.isNew)
    throw new SquadError(
      'CONFIG_INVALID',
      `${mcpConfigPath(workspace)} was changed by another program at the same time. Nothing was written.`,
      { suggestions: ['Run the command again.'] },
    );
}

/** Real path of a file in `.squad`, so that a link inside the workspace stays a link. */
export async function placeToWrite(workspace: string, file: string): Promise<string> {
  const place = await resolveInside(workspace, file);
  if ('real' in place) return place.real;
  await mkdir(dirname(file), { recursive: true });
  const folder = await teamFolder(workspace);
  if (folder === null) throw new SquadError('CONFIG_INVALID', `${dirname(file)} is not a folder.`);
  return join(folder, basename(file));
}
