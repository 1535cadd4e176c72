import type { ChangedFile } from '../schema/work.ts';
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

/** What the index knows and the work tree holds otherwise than the commit `base`, by path. */
export async function trackedChanges(git: Git, base: string): Promise<Map<string, TrackedChange>> {
  return parseChanges(await git.run([...PLAIN_DIFF, '--raw', '--numstat', '-z', base, '--']));
}

const COUNTS = /^(\d+|-)\t(\d+|-)\t(.*)$/s;

export function parseChanges(output: Buffer): Map<string, TrackedChange> {
  const changes = new Map<string, TrackedChange>();
  const tokens = output.toString('latin1').split('\0');
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.startsWith(':')) {
      const path = tokens[++at] ?? '';
      changes.set(path, { path, status: letter(token), lines: null });
      continue;
    }
    const [, insertions, deletions, path] = COUNTS.exec(token) ?? [];
    const change = path === undefined ? undefined : changes.get(path);
    if (change && insertions !== '-')
      change.lines = { insertions: Number(insertions), deletions: Number(deletions) };
  }
  return changes;
}

function letter(raw: string): TrackedChange['status'] {
  const last = raw.at(-1);
  return last === 'A' || last === 'D' || last === 'T' ? last : 'M';
}
