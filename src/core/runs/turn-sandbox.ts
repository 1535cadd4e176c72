import { join } from 'node:path';
import type { Run } from '../../schema/run.ts';
import type { SandboxNeeds, TurnInput } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';

/**
 * Environment for finding, from outside the sandbox, the files that the agent keeps in its HOME. In a sandbox HOME is
 * a folder of the chat, and variables that name other folders are not passed on.
 */
export const stateEnvironment = ({
  env,
  options,
  files,
}: Pick<TurnInput, 'env' | 'options' | 'files'>): Record<string, string> =>
  options.sandbox.level === 'off' ? env : { HOME: join(files.chatFolder, 'home') };

/** Like `stateEnvironment`, for a run and its chat. */
export const chatEnvironment = (
  { engine, chatId, id, options }: Pick<Run, 'engine' | 'chatId' | 'id' | 'options'>,
  env: Record<string, string>,
  files: Pick<RunFiles, 'chatHome'>,
): Record<string, string> =>
  options.sandbox.level === 'off' ? env : { HOME: files.chatHome(engine, chatId ?? id) };

/**
 * Variables that name sockets and folders of the user's session, which do not exist in the sandbox. Without these
 * variables, programs use HOME and /tmp.
 */
const OUTSIDE = new Set([
  ...['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'GPG_AGENT_INFO', 'GNUPGHOME', 'DBUS_SESSION_BUS_ADDRESS'],
  ...['XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'],
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'TMPDIR', 'TMP', 'TEMP', 'SQUAD_HOME'],
]);

/**
 * Variables of a command inside a sandbox. `home` is HOME inside the sandbox. `identity` is the author of commits,
 * unless the command sets one.
 */
export function environmentInside(
  env: Record<string, string>,
  { drops }: Pick<SandboxNeeds, 'drops'>,
  { home, identity }: { home: string; identity: Record<string, string> },
): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) => !OUTSIDE.has(name) && !drops.includes(name));
  return { ...identity, ...Object.fromEntries(kept), HOME: home };
}
