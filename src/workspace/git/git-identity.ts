import { COMMITTER } from '../worktrees/branch-commit.ts';
import type { Git } from './git.ts';

type Environment = Record<string, string | undefined>;

/** The user, as they told git who they are, or Squad; nothing else of the user's configuration is taken. */
export async function committer(git: Git, env: Environment): Promise<Record<string, string>> {
  const ask = async (more: Record<string, string>) => {
    const args = ['config', '--includes', '-z', '--get-regexp', '^user\\.(name|email)$'];
    return parse(await git.run(args, { env: more, codes: [1] }));
  };
  const files = [
    ...(env.XDG_CONFIG_HOME || env.HOME
      ? [`${env.XDG_CONFIG_HOME || `${env.HOME}/.config`}/git/config`]
      : []),
    ...(env.HOME ? [`${env.HOME}/.gitconfig`] : []),
  ];
  let { name, email } = await ask({});
  for (const file of files.toReversed()) {
    if (name && email) break;
    const found = await ask({ GIT_CONFIG_GLOBAL: file });
    name ??= found.name;
    email ??= found.email;
  }
  return {
    ...COMMITTER,
    ...(name && { GIT_AUTHOR_NAME: name, GIT_COMMITTER_NAME: name }),
    ...(email && { GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_EMAIL: email }),
  };
}

function parse(list: Buffer): { name?: string; email?: string } {
  const values = list
    .toString()
    .split('\0')
    .map(entry => entry.split('\n'));
  // The last one counts, as for git itself.
  const of = (key: string) => values.findLast(([name]) => name === key)?.[1];
  return { name: of('user.name'), email: of('user.email') };
}
