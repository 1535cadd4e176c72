import { type Git, GitTrouble } from './git.ts';

/**
 * Options for a merge in which no program of the repository's is started: what such a driver would merge is a conflict
 * instead, for somebody to merge by hand.
 */
export async function withoutMergeDrivers(git: Git): Promise<string[]> {
  const list = await git.run(['config', '--includes', '--list', '--name-only', '-z']);
  const names = new Set(
    list
      .toString()
      .split('\0')
      .flatMap(key => /^merge\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []),
  );
  for (const name of names)
    if (/[=\n\uFFFD]/.test(name))
      throw new GitTrouble('the repository has a merge driver that cannot be switched off');
  return [...names].flatMap(name => ['-c', `merge.${name}.driver=false`]);
}
