import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Git } from './git.ts';

/**
 * What the user ignores everywhere (editors' folders, secrets) is not to be committed in the user's name either. Git finds
 * the usual file by itself; one that the user's configuration names is all that is taken from there.
 */
export async function ignoredByUser(git: Git, env: Record<string, string | undefined>): Promise<string[]> {
  const { HOME, XDG_CONFIG_HOME } = env;
  if (!HOME) return [];
  const files = [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git', 'config')];
  const asked = [null, ...files.filter(file => existsSync(file))];
  if (asked.length === 1) return [];
  const answers = await Promise.all(asked.map(file => excludesFile(git, file)));
  // The repository's own word counts more.
  const [own, ...users] = answers;
  const named = own ? undefined : users.find(answer => answer !== '');
  return named ? ['-c', `core.excludesFile=${named}`] : [];
}

/** As one file of the user's, or without it, the configuration names it; empty: it does not. */
async function excludesFile(git: Git, file: string | null): Promise<string> {
  const args = ['config', '--includes', '--type=path', '--get', 'core.excludesFile'];
  const env = file === null ? undefined : { GIT_CONFIG_GLOBAL: file };
  // A configuration that git cannot read is the user's to mend, with git's own words.
  return String(await git.run(args, { codes: [1], env }).catch(() => '')).trim();
}
