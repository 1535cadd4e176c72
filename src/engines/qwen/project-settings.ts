import { join } from 'node:path';
import { type Fields, fieldsOf } from '../json-line.ts';
import { type ProjectSettings, upwards } from '../project-commands.ts';
import { readText } from '../read-text.ts';
import { type Fork, twinOf } from '../worktree-twin.ts';

export function qwenProjectSettings(env: Record<string, string>): ProjectSettings {
  const levels = usersLevels(env);
  return {
    cli: 'Qwen Code',
    program: 'qwen',
    files: ['.qwen/settings.json'],
    runsCommands: /"(hooks|discoveryCommand|callCommand)"\s*:/,
    isTrusted: folder => levels[folder] === 'TRUST_FOLDER',
  };
}

/**
 * What the user trusts, and the work tree made for the run where its checkout is among that: a user who has Qwen Code ask
 * about folders could not be asked, and it would have neither a shell nor Squad's tools. Null: nothing to add.
 */
export function trustWithFork(cwd: string, env: Record<string, string>, fork: Fork): string | null {
  const twin = twinOf(cwd, fork);
  if (!fork || twin === null || !upwards(twin).some(qwenProjectSettings(env).isTrusted)) return null;
  return JSON.stringify({ ...usersLevels(env), [fork.path]: 'TRUST_FOLDER' });
}

function usersLevels(env: Record<string, string>): Fields {
  const home = env.QWEN_HOME || join(env.HOME || '/', '.qwen');
  const file = env.QWEN_CODE_TRUSTED_FOLDERS_PATH || join(home, 'trustedFolders.json');
  return fieldsOf(readText(file)) ?? {};
}
