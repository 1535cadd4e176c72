import { readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { z } from 'zod';
import {
  type ConfigSources,
  type SettingsFile,
  type TemplateFile,
  templatePath,
} from '../../core/settings/config.ts';
import { findExecutable } from '../../process/programs/find-executable.ts';
import { UserFile, WorkspaceFile } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import { parseJsonFile } from '../files/json-file.ts';
import { isInside } from '../files/paths.ts';
import { readTextFile, type TextFile } from '../files/text-file.ts';
import { isTrusted } from './trust.ts';

interface ConfigPlaces {
  workspace: string;
  /** Squad's home folder, where trust is stored. */
  home: string;
  /** The client's environment. */
  env: Readonly<Record<string, string | undefined>>;
}

/** Reads all configuration of a workspace. `resolveConfig` decides what counts. */
export async function readConfigFiles({ workspace, home, env }: ConfigPlaces): Promise<ConfigSources> {
  const userPath = userFilePath(env);
  const template = (name: string) => templateFile(home, join(workspace, 'templates', name));
  const [workspaceFile, userFile, runTemplate, createChatTemplate] = await Promise.all([
    settingsFile(join(workspace, '.squad', 'squad.json'), workspace, WorkspaceFile),
    userPath === null ? null : settingsFile(userPath, dirname(userPath), UserFile),
    template('run-agent.template'),
    template('create-chat.template'),
  ]);
  const named = [
    ...paths([env.RUN_TEMPLATE, env.CREATE_CHAT_TEMPLATE], workspace),
    ...paths([workspaceFile?.settings.runTemplate, workspaceFile?.settings.createChatTemplate], workspace),
    ...(userFile
      ? paths([userFile.settings.runTemplate, userFile.settings.createChatTemplate], userFile.base)
      : []),
  ];
  const namedTemplates = new Map<string, TemplateFile>();
  for (const path of named) {
    const file = await templateFile(home, path);
    if (file) namedTemplates.set(path, file);
  }
  return {
    workspace,
    env,
    workspaceFile: workspaceFile && {
      ...workspaceFile,
      trusted: await isTrusted(home, workspaceFile.file, workspaceFile.text),
    },
    agentsDirLeadsOut: await leadsOut(workspace, workspaceFile?.settings.agentsDir),
    workspaceTemplates: { runTemplate, createChatTemplate },
    userFile,
    namedTemplates,
  };
}

export function userFilePath(env: ConfigPlaces['env']): string | null {
  const { XDG_CONFIG_HOME: xdg, HOME: home } = env;
  // By the XDG specification a relative path is ignored.
  if (xdg && isAbsolute(xdg)) return join(xdg, 'squad', 'config.json');
  return home ? join(home, '.config', 'squad', 'config.json') : null;
}

function paths(settings: (string | undefined)[], base: string): string[] {
  return settings
    .map(setting => (setting === undefined ? null : templatePath(setting, base)))
    .filter(path => path !== null);
}

/** Size limit, because the hub's main thread parses these files at every call. Real files have a few kilobytes. */
export const MAX_SETTINGS_BYTES = 64 * 1024;

async function settingsFile<T>(
  file: string,
  base: string,
  schema: z.ZodObject & z.ZodType<T>,
): Promise<SettingsFile<T> | null> {
  const read = await readConfigFile(file);
  if ('missing' in read) return null;
  if ('fault' in read)
    throw new SquadError('CONFIG_INVALID', `${file} ${read.fault}.`, {
      suggestions: ['Fix or remove the file, then try again.'],
    });
  return { file, base, text: read.text, settings: parseSettings(file, read.text, schema) };
}

/** Parses settings, with comments and trailing commas, because people write these files. */
export const parseSettings = <T>(file: string, text: string, schema: z.ZodObject & z.ZodType<T>): T =>
  parseJsonFile(file, text, schema, true);

async function templateFile(home: string, file: string): Promise<TemplateFile | null> {
  const read = await readConfigFile(file);
  if ('missing' in read) return null;
  if ('fault' in read) return { file, text: '', fault: read.fault, trusted: false };
  return { file, text: read.text, fault: null, trusted: await isTrusted(home, file, read.text) };
}

/** A broken link is an error, not a missing file, because the link stands for an engine or a template. */
async function readConfigFile(file: string): Promise<TextFile> {
  const [read, link] = await Promise.all([
    readTextFile(file, MAX_SETTINGS_BYTES),
    readlink(file).catch(() => null),
  ]);
  return link === null || !('missing' in read)
    ? read
    : { fault: `is a symbolic link to ${link}, which does not exist` };
}

async function leadsOut(workspace: string, directory: string | undefined): Promise<boolean> {
  if (directory === undefined) return false;
  const path = resolve(workspace, directory);
  const real = await realpath(path).catch(() => path);
  // If the workspace was removed, the next step that needs it reports that.
  return !isInside(await realpath(workspace).catch(() => workspace), real);
}

/** Why the program of `onEnd` or `onAsk` cannot be started from this folder. Null if it can. */
export function hookFault([program = '']: readonly string[], cwd: string, path: string): string | null {
  const found = findExecutable(program, { path, cwd });
  if (found.status === 'found') return null;
  return found.status === 'not_found' ? `${program} was not found` : `${found.path} is not executable`;
}
