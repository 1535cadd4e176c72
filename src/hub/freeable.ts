import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formatBytes } from '../base/text.ts';

/** Limit of counted files. It is enough to see what is large, and counting millions of files would take too long. */
const MAX_ENTRIES = 200_000;

const FREEABLE = [
  ['cache', 'created again when needed'],
  ['hub.log.1', 'older half of the log'],
  ['runs', 'prompts and output of runs: delete folders of runs that have ended'],
  ['chats', 'chats that engines keep for replies'],
  ['worktrees', 'may hold uncommitted work: check first'],
] as const;

/** Lists files to delete by hand when the hub cannot start because the disk is full. Writes nothing. */
export function describeFreeable(home: string): string[] {
  return [...damagedDatabases(home), ...FREEABLE].flatMap(([name, what]) => {
    const bytes = bytesOf(join(home, name));
    return bytes > 0 ? [`${join(home, name)}: ${formatBytes(bytes)} (${what})`] : [];
  });
}

/** Damaged databases that were kept when the database was rebuilt. */
function damagedDatabases(home: string): [name: string, what: string][] {
  try {
    const names = readdirSync(home).filter(name => name.includes('.damaged-'));
    return names.sort().map(name => [name, 'a damaged database that has been rebuilt']);
  } catch {
    // The home folder cannot be read.
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
      // Counts blocks on the disk, because a sparse file uses less than its size.
      sum += found.blocks * 512;
      if (found.isDirectory()) left.push(...readdirSync(next).map(name => join(next, name)));
    } catch {
      // The file is gone or cannot be read, so it is not counted.
    }
  return sum;
}
