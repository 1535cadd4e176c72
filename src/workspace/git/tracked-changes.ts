import type { ChangedFile } from '../../schema/work.ts';
import type { Git } from './git.ts';

export interface TrackedChange {
  path: string;
  status: ChangedFile['status'];
  /** Null for binary content. */
  lines: { insertions: number; deletions: number } | null;
}

/** For every comparison: nothing of the repository's configuration changes how it looks or what it runs. */
export const PLAIN_DIFF = [
  ...['diff', '--no-ext-diff', '--no-textconv', '--no-renames', '--no-color', '--no-relative', '-O/dev/null'],
  ...['--ignore-submodules=dirty', '--submodule=short', '--diff-algorithm=default'],
];

export interface TrackedChanges {
  byPath: Map<string, TrackedChange>;
  /** Why no lines could be counted; null when they were. */
  uncounted: string | null;
}

/** Tracked files that the work tree holds otherwise than the commit `base`; with `tip`, that this commit does. */
export async function trackedChanges(
  git: Git,
  base: string,
  { tip, env }: { tip?: string; env?: Record<string, string> } = {},
): Promise<TrackedChanges> {
  const list = (...more: string[]) =>
    git.run([...PLAIN_DIFF, '--raw', ...more, '-z', base, ...(tip === undefined ? [] : [tip]), '--'], {
      env,
    });
  try {
    return { byPath: parseChanges(await list('--numstat'), true), uncounted: null };
  } catch (trouble) {
    // One file that cannot be read, a pipe say, and git counts none. It can still name them.
    return { byPath: parseChanges(await list(), false), uncounted: (trouble as Error).message };
  }
}

const COUNTS = /^(\d+|-)\t(\d+|-)\t(.*)$/s;

function parseChanges(output: Buffer, hasCounts: boolean): Map<string, TrackedChange> {
  const changes = new Map<string, TrackedChange>();
  const doubtful = new Set<string>();
  const tokens = output.toString('latin1').split('\0');
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.startsWith(':')) {
      const path = tokens[++at] ?? '';
      changes.set(path, { path, status: letter(token), lines: null });
      if (hasCounts && token.endsWith('M') && !changesMode(token)) doubtful.add(path);
      continue;
    }
    const [, insertions, deletions, path = ''] = COUNTS.exec(token) ?? [];
    doubtful.delete(path);
    const change = changes.get(path);
    if (change && insertions !== '-')
      change.lines = { insertions: Number(insertions), deletions: Number(deletions) };
  }
  // Named, but with nothing to count: only its date is another. Git lists it unless it may refresh its index.
  for (const path of doubtful) changes.delete(path);
  return changes;
}

/** `:100644 100755 …` */
const changesMode = (raw: string): boolean => raw.slice(1, 7) !== raw.slice(8, 14);

function letter(raw: string): TrackedChange['status'] {
  const last = raw.at(-1);
  return last === 'A' || last === 'D' || last === 'T' ? last : 'M';
}
