import { realpath } from 'node:fs/promises';
import { relative, sep } from 'node:path';

export type RealPlace = { real: string } | { missing: true } | { outside: true } | { fault: string };

/** Where a path really leads, and whether that is still inside the folder. */
export async function realPlace(folder: string, path: string): Promise<RealPlace> {
  try {
    const real = await realpath(path);
    return isInside(await realpath(folder), real) ? { real } : { outside: true };
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { missing: true };
    if (code === 'ELOOP') return { fault: 'is a symbolic link that leads to itself' };
    return { fault: `cannot be read: ${code ?? String(thrown)}` };
  }
}

/** Judged by the names alone. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`);
}
