import { constants, copyFile, link } from 'node:fs/promises';

/**
 * Errors of file systems without hard links, such as many network file systems, and of a file with too many hard links.
 */
export const NO_LINKS: ReadonlySet<string | undefined> = new Set([
  ...['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'],
]);

/** Fails with EEXIST if the second path already exists. */
export const linkOrCopy = (from: string, to: string): Promise<void> =>
  link(from, to).catch(error => {
    if (!NO_LINKS.has(error.code)) throw error;
    return copyFile(from, to, constants.COPYFILE_EXCL);
  });
