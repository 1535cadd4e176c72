import { sizeWords } from '../schema/size-words.ts';
import { pathText } from './path-text.ts';
import { eachOf, statWorkFile } from './work-file.ts';

/** More than this is not copied into the `.git` of a repository unless the user says so. */
const MAX_COPIED_BYTES = 256 * 1024 ** 2;
const MAX_NAMED = 3;

/** Null: the files together are small enough to be copied without asking. */
export async function describeLargeFiles(root: string, paths: readonly string[]): Promise<string | null> {
  const sizes = await eachOf(paths, async path => Number((await statWorkFile(root, path))?.size ?? 0));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= MAX_COPIED_BYTES) return null;
  const bySize = paths.map((path, at) => ({ path, size: sizes[at]! })).sort((a, b) => b.size - a.size);
  const named = bySize.slice(0, MAX_NAMED).map(({ path, size }) => `${pathText(path)} ${sizeWords(size)}`);
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  return `its files that are not committed take ${sizeWords(bytes)} (${named.join(', ')}${more}), which would be copied into the repository's .git`;
}
