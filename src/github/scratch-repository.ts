import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Git, OpenGit } from './git.ts';

/**
 * A repository of our own for as long as one push takes, with the objects of another. An agent can write the configuration of
 * the repository it works in, and that could send a push and the token elsewhere, or run something; none of it is read here.
 */
export async function inScratchRepository<T>(
  openGit: OpenGit,
  { env, objectsOf, isSha256 }: { env: Record<string, string>; objectsOf: Git; isSha256: boolean },
  act: (git: Git, env: Record<string, string>, folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'squad-push-'));
  try {
    const gitDir = join(folder, '.git');
    await mkdir(join(gitDir, 'objects'), { recursive: true });
    await mkdir(join(gitDir, 'refs'));
    await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
    await writeFile(join(gitDir, 'config'), isSha256 ? SHA256 : SHA1);
    const { commonDir } = objectsOf.folder;
    // Where history was cut off; most repositories have none of it.
    await copyFile(join(commonDir, 'shallow'), join(gitDir, 'shallow')).catch(() => {});
    return await act(
      await openGit(folder, env),
      { GIT_OBJECT_DIRECTORY: join(commonDir, 'objects') },
      folder,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const SHA1 = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n';
const SHA256 =
  '[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n';
