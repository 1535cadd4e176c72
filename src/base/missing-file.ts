/**
 * For `catch`: null if the file does not exist. Other errors are thrown, because they must not look like a missing
 * file.
 */
export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
