import { setImmediate } from 'node:timers/promises';
import { hasHidden, visibleLine } from '../../base/visible-text.ts';
import { diffFiles } from '../../schema/diff-files.ts';
import { branchDiff } from '../evidence/branch-diff.ts';
import type { Git } from '../git/git.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_NAMED = 8;

/** Warns of files to which a merge would add control, reading-direction or invisible characters. */
export async function hiddenInMerge(git: Git, from: string, to: string): Promise<string[]> {
  if (from === to) return [];
  const { text, isTruncated } = await branchDiff(git, from, to, MAX_BYTES);
  const found: string[] = [];
  for (const { path, body } of diffFiles(text)) {
    if (hasHidden(addedLines(body))) found.push(visibleLine(path));
    // Others are served between two files.
    await setImmediate();
  }
  const named = found.slice(0, MAX_NAMED).join(', ');
  const more = found.length > MAX_NAMED ? ` and ${found.length - MAX_NAMED} more` : '';
  return [
    ...(found.length > 0
      ? [`Hidden characters are added to ${named}${more}: read \`squad diff RUN\`, which shows them`]
      : []),
    ...(isTruncated ? ['Only the first 4 MiB of the changes were searched for hidden characters'] : []),
  ];
}

const addedLines = (body: string): string =>
  body
    .split('\n')
    .filter(line => line.startsWith('+'))
    .join('\n');
