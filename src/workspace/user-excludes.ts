import { join } from 'node:path';
import type { Git } from './git.ts';

/**
 * What the user ignores everywhere (editors' folders, secrets) is not to be committed in the user's name either. Git finds
 * the usual file by itself; one that the user's configuration names is all that is taken from there.
 */
export async function ignoredByUser(git: Git, env: Record<string, string | undefined>): Promise<string[]> {
  const ask = ['config', '--includes', '--type=path', '--get', 'core.excludesFile'];
  const answer = async (variables: Record<string, string>) =>
    String(await git.run(ask, { codes: [1], env: variables })).trim();
  // The repository's own word counts more.
  if (!env.HOME || (await answer({}))) return [];
  const usual = join(env.XDG_CONFIG_HOME || join(env.HOME, '.config'), 'git', 'config');
  for (const file of [join(env.HOME, '.gitconfig'), usual]) {
    const excludes = await answer({ GIT_CONFIG_GLOBAL: file }).catch(() => '');
    if (excludes) return ['-c', `core.excludesFile=${excludes}`];
  }
  return [];
}
