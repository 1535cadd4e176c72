import { realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readBounded } from '../files/bounded-file.ts';
import { type Git, GitTrouble } from '../git/git.ts';
import { gitDirAt } from './worktree-place.ts';

/**
 * A work tree that our git has just made. It names the way that git came, by a folder of ours, and lacks what other gits read
 * of one work tree alone (a sparse checkout, say). Returns its git folder.
 */
export async function settleWorktree(git: Git, path: string): Promise<string> {
  const named = await gitDirAt(path);
  const gitDir = named && (await realpath(named).catch(() => null));
  if (!gitDir) throw new GitTrouble('git made a work tree that cannot be read');
  if (gitDir !== named) await writeFile(join(path, '.git'), `gitdir: ${gitDir}\n`);
  const config = await readBounded(join(git.folder.gitDir, 'config.worktree'));
  if (typeof config !== 'string') await writeConfig(git, join(gitDir, 'config.worktree'), config);
  return gitDir;
}

async function writeConfig(git: Git, file: string, config: Buffer): Promise<void> {
  await writeFile(file, config);
  // Where the other one's files are is not where these are. It exits with 5 when there is no such setting.
  for (const key of ['core.bare', 'core.worktree'])
    await git.run(['config', '--file', file, '--unset-all', key], { codes: [5] });
}
