import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { withLock } from '../files/file-lock.ts';
import { parseJsonFile } from '../files/json-file.ts';
import { readTextFile, replaceFile, unwritten } from '../files/text-file.ts';

/**
 * Whether the user trusts this content. Repository config that runs commands is ignored until the user trusts it.
 * Trust covers one file with its exact content, so after a change the user is asked again.
 */
export async function isTrusted(home: string, file: string, content: string): Promise<boolean> {
  const { files } = await read(home);
  return files[await nameOf(file)]?.at(-1) === hashOf(content);
}

/**
 * Trusts the content of a file and revokes trust in its earlier content. Otherwise anybody who can write the file
 * could restore what the user has removed from it.
 */
export async function trust(home: string, file: string, content: string): Promise<void> {
  const name = await nameOf(file);
  await change(home, ({ files, declined }) => ({
    files: { ...files, [name]: [hashOf(content)] },
    declined: without(declined, name),
  }));
}

/** Records that the user was asked about this content and does not trust it, so that nobody asks again. */
export async function decline(home: string, file: string, content: string): Promise<void> {
  const name = await nameOf(file);
  await change(home, ({ files, declined }) => ({
    files,
    declined: { ...declined, [name]: hashOf(content) },
  }));
}

export async function isDeclined(home: string, file: string, content: string): Promise<boolean> {
  return (await read(home)).declined[await nameOf(file)] === hashOf(content);
}

/** Returns false when the file was not trusted. */
export async function untrust(home: string, file: string): Promise<boolean> {
  const name = await nameOf(file);
  let wasTrusted = false;
  await change(home, ({ files, declined }) => {
    wasTrusted = files[name] !== undefined;
    return wasTrusted ? { files: without(files, name), declined } : null;
  });
  return wasTrusted;
}

const TrustFile = z.object({
  version: z.literal(1),
  /**
   * Maps an absolute path to the hash of the trusted content. Older versions wrote several hashes, of which the last
   * counts.
   */
  files: z.record(z.string(), z.array(z.string())),
  /** Maps an absolute path to the hash of the content that the user last declined. */
  declined: z.record(z.string(), z.string()).default({}),
});
type TrustFile = z.infer<typeof TrustFile>;

export const trustPath = (home: string) => join(home, 'trust.json');

async function read(home: string): Promise<TrustFile> {
  const file = await readTextFile(trustPath(home));
  if ('missing' in file) return { version: 1, files: {}, declined: {} };
  if ('fault' in file)
    throw new SquadError('CONFIG_INVALID', `${trustPath(home)} ${file.fault}.`, {
      suggestions: [
        'Repair or delete the file, then run `squad trust` again in each workspace that needs it.',
      ],
    });
  return parseJsonFile(trustPath(home), file.text, TrustFile);
}

/** Changes the file of trust under a lock. `edit` returns null if there is nothing to change. */
async function change(
  home: string,
  edit: (before: Omit<TrustFile, 'version'>) => Omit<TrustFile, 'version'> | null,
): Promise<void> {
  await withLock(`${trustPath(home)}.lock`, async () => {
    const edited = edit(await read(home));
    const content: TrustFile | null = edited && { version: 1, ...edited };
    if (content) await replaceFile(trustPath(home), `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  }).catch(thrown => {
    throw unwritten(trustPath(home), thrown);
  });
}

const without = <T>(entries: Record<string, T>, name: string): Record<string, T> =>
  Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));

/** Real path of a file, the same for every link to it. */
async function nameOf(file: string): Promise<string> {
  const path = resolve(file);
  // A file that no longer exists is named by the real path of its folder.
  const inRealFolder = () => realpath(dirname(path)).then(folder => join(folder, basename(path)));
  return realpath(path)
    .catch(inRealFolder)
    .catch(() => path);
}

/** Hash without the byte order mark, because not every reader keeps it. */
function hashOf(content: string): string {
  return `sha256:${createHash('sha256')
    .update(content.replace(/^\ufeff/, ''))
    .digest('hex')}`;
}
