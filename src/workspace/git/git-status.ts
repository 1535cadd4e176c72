import type { Git, GitRun } from './git.ts';

export interface StatusEntry {
  /** Bytes of the path from the root, one character each. */
  path: string;
  isUntracked: boolean;
}

export interface Status {
  head: string | null;
  branch: string | null;
  entries: StatusEntry[];
}

const ARGUMENTS = [
  ...['status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all', '--no-renames'],
  // A submodule has a configuration of its own, so git must not go into it; that it is at another commit shows from outside.
  ...['--ignore-submodules=dirty', '--no-ahead-behind'],
];

/** The whole repository's state against its HEAD, by one process. */
export async function readStatus(git: Git, how: GitRun = {}): Promise<Status> {
  return parseStatus(await git.run(ARGUMENTS, how));
}

/** Without untracked files: git does not look for any, and reads no ignore rules. */
export async function readTrackedStatus(git: Git, how: GitRun = {}): Promise<Status> {
  return parseStatus(await git.run([...ARGUMENTS, '--untracked-files=no'], how));
}

/** All of it in one thread: where several are looked at at once, more of them only get in each other's way. */
export async function readStatusAmongMany(git: Git): Promise<Status> {
  return parseStatus(await git.run(['-c', 'core.preloadIndex=false', ...ARGUMENTS]));
}

/** Fields before the path, by the letter a line begins with. */
const FIELDS: Record<string, number> = { '1': 8, u: 10, '?': 1 };

export function parseStatus(output: Buffer): Status {
  const status: Status = { head: null, branch: null, entries: [] };
  for (const line of output.toString('latin1').split('\0')) {
    if (line.startsWith('# branch.oid ')) status.head = unless(line.slice(13), '(initial)');
    else if (line.startsWith('# branch.head '))
      status.branch = unless(Buffer.from(line.slice(14), 'latin1').toString(), '(detached)');
    const fields = FIELDS[line[0] ?? ''];
    if (fields) status.entries.push({ path: afterFields(line, fields), isUntracked: line[0] === '?' });
  }
  return status;
}

const unless = (value: string, nothing: string): string | null => (value === nothing ? null : value);

function afterFields(line: string, count: number): string {
  let at = 0;
  for (let field = 0; field < count; field++) at = line.indexOf(' ', at) + 1;
  return line.slice(at);
}
