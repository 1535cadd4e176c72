import type { ConfigOrigin, UserFile, WorkspaceFile } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { ConfigSources } from './config-sources.ts';

/** One place a setting is given. It is read only if it wins: what is wrong in a place that is overruled does no harm. */
export interface Candidate<T> {
  origin: ConfigOrigin;
  source: string;
  read(): T;
  /** Why it must have no effect, and in which file. */
  barred?(): { file: string; reason: string } | null;
}

export const NOT_TRUSTED =
  'the file came with the workspace and is not trusted yet: read it, then run `squad trust`';

export function fromEnv<T>(
  { env }: ConfigSources,
  variable: string,
  read: (text: string) => T,
): Candidate<T> | null {
  const text = env[variable];
  if (!isSet(text)) return null;
  return { origin: 'environment', source: variable, read: () => read(text) };
}

export function fromWorkspace<K extends keyof WorkspaceFile, T>(
  { workspaceFile }: ConfigSources,
  key: K,
  read: (value: NonNullable<WorkspaceFile[K]>, source: string, base: string) => T,
  { needsTrust }: { needsTrust: boolean },
): Candidate<T> | null {
  const value = workspaceFile?.settings[key];
  if (!workspaceFile || !isSet(value)) return null;
  const { file, base, trusted } = workspaceFile;
  return {
    origin: 'workspace',
    source: file,
    read: () => read(value, file, base),
    barred: () => (needsTrust && !trusted ? { file, reason: NOT_TRUSTED } : null),
  };
}

export function fromUser<K extends keyof UserFile, T>(
  { userFile }: ConfigSources,
  key: K,
  read: (value: NonNullable<UserFile[K]>, source: string, base: string) => T,
): Candidate<T> | null {
  const value = userFile?.settings[key];
  if (!userFile || !isSet(value)) return null;
  return { origin: 'user', source: userFile.file, read: () => read(value, userFile.file, userFile.base) };
}

export function wrongValue(source: string, value: unknown, allowed: string): never {
  throw new SquadError('CONFIG_INVALID', `${source} is ${JSON.stringify(value)}; it must be ${allowed}.`, {
    suggestions: [
      `Change it to ${allowed}, or remove it.`,
      '`squad config show` tells where each value comes from.',
    ],
  });
}

/** Clients' config files leave a variable empty to say "not set". */
function isSet<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');
}
