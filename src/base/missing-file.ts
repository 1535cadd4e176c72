/** For `catch`: null if there is no such file. Other errors are thrown, because they must not look like that. */
export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
