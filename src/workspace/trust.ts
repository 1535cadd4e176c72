import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { SquadError } from '../schema/error.ts';
import { parseJsonFile } from './json-file.ts';
import { readTextFile } from './text-file.ts';

/**
 * What came with a repository and names a command does nothing until the user has trusted that content. Trust is
 * for one file and the exact bytes that were read: the next change to it asks again.
 */
export async function isTrusted(home: string, file: string, content: string): Promise<boolean> {
  const { files } = await read(home);
  return files[await nameOf(file)]?.includes(hashOf(content)) ?? false;
}

export async function trust(home: string, file: string, content: string): Promise<void> {
  const name = await nameOf(file);
  const { files } = await read(home);
  // Several at once, so that going back to an older branch does not ask again.
  const hashes = [...new Set([...(files[name] ?? []), hashOf(content)])].slice(-MOST_VERSIONS);
  await write(home, { version: 1, files: { ...files, [name]: hashes } });
}

/** Forgets every version of the file; false when none was trusted. */
export async function untrust(home: string, file: string): Promise<boolean> {
  const name = await nameOf(file);
  const { files } = await read(home);
  const { [name]: forgotten, ...rest } = files;
  if (!forgotten) return false;
  await write(home, { version: 1, files: rest });
  return true;
}

const MOST_VERSIONS = 32;

const TrustFile = z.object({
  version: z.literal(1),
  /** Absolute path → hashes of the contents that were trusted. */
  files: z.record(z.string(), z.array(z.string())),
});
type TrustFile = z.infer<typeof TrustFile>;

export const trustPath = (home: string) => join(home, 'trust.json');

async function read(home: string): Promise<TrustFile> {
  const file = await readTextFile(trustPath(home));
  if ('missing' in file) return { version: 1, files: {} };
  if ('fault' in file)
    throw new SquadError('CONFIG_INVALID', `${trustPath(home)} ${file.fault}.`, {
      suggestions: ['Repair or delete it; then run `squad trust` again where you need it.'],
    });
  return parseJsonFile(trustPath(home), file.text, TrustFile);
}

async function write(home: string, content: TrustFile): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const temporary = join(home, `trust.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, trustPath(home));
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

/** One name for a file however its folder was reached. */
async function nameOf(file: string): Promise<string> {
  return realpath(file).catch(() => resolve(file));
}

/** Whoever read the file may or may not have left its byte order mark out. */
function hashOf(content: string): string {
  return `sha256:${createHash('sha256')
    .update(content.replace(/^\ufeff/, ''))
    .digest('hex')}`;
}
