import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../git/git.ts';

/**
 * What the user ignores everywhere (editors' folders, secrets) is not to be committed in the user's name either. Git finds
 * the usual file by itself; one that the user's configuration names is all that is taken from there.
 */
export async function ignoredByUser(git: Git, env: Record<string, string | undefined>): Promise<string[]> {
  const { HOME, XDG_CONFIG_HOME } = env;
  if (!HOME) return [];
  const files = [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git', 'config')];
  const naming = await Promise.all(files.map(mayName));
  const asked = files.filter((_, at) => naming[at]);
  if (asked.length === 0) return [];
  const answers = await Promise.all([null, ...asked].map(file => excludesFile(git, file)));
  // The repository's own word counts more.
  const [own, ...users] = answers;
  const named = own ? undefined : users.find(answer => answer !== '');
  return named ? ['-c', `core.excludesFile=${named}`] : [];
}

/** Names of settings cannot be written any other way, and somebody waits for every git. */
async function mayName(file: string): Promise<boolean> {
  const text = await readFile(file, 'latin1').catch(() => '');
  return /excludesfile|include/i.test(text);
}

/** As one file of the user's, or without it, the configuration names it; empty: it does not. */
async function excludesFile(git: Git, file: string | null): Promise<string> {
  const args = ['config', '--includes', '--type=path', '--get', 'core.excludesFile'];
  const env = file === null ? undefined : { GIT_CONFIG_GLOBAL: file };
  // A configuration that git cannot read is the user's to mend, with git's own words.
  return String(await git.run(args, { codes: [1], env }).catch(() => '')).trim();
}
