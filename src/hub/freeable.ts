import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formatBytes } from '../base/text.ts';

/** Enough to tell what is large; counting millions of files would keep whoever waits. */
const MAX_ENTRIES = 200_000;

const FREEABLE = [
  ['cache', 'made again when needed'],
  ['hub.log.1', 'the older half of the log'],
  ['runs', 'prompts and output of runs: delete folders of runs that ended'],
  ['chats', 'what engines keep for replies'],
  ['worktrees', 'may hold work that is not committed: look first'],
] as const;

/** For a hub that cannot start because the disk is full: what to delete by hand. Only reads, because nothing can be written. */
export function describeFreeable(home: string): string[] {
  return [...damagedDatabases(home), ...FREEABLE].flatMap(([name, what]) => {
    const bytes = bytesOf(join(home, name));
    return bytes > 0 ? [`${join(home, name)}: ${formatBytes(bytes)} (${what})`] : [];
  });
}

/** Copies that were kept when the database was rebuilt. */
function damagedDatabases(home: string): [name: string, what: string][] {
  try {
    const names = readdirSync(home).filter(name => name.includes('.damaged-'));
    return names.sort().map(name => [name, 'a damaged database that was rebuilt since']);
  } catch {
    // A home that cannot be read has nothing to name.
    return [];
  }
}

function bytesOf(path: string): number {
  let sum = 0;
  const left = [path];
  for (let count = 0; left.length > 0 && count < MAX_ENTRIES; count++)
    try {
      const next = left.pop()!;
      const found = lstatSync(next);
      // Blocks on the disk: a sparse file takes less than its size.
      sum += found.blocks * 512;
      if (found.isDirectory()) left.push(...readdirSync(next).map(name => join(next, name)));
    } catch {
      // It is gone, or may not be read: then it cannot be counted.
    }
  return sum;
}
