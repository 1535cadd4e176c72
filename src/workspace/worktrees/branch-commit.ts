import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Git, GitRun } from '../git/git.ts';

/** Who makes Squad's commits. Whose work is in them says the branch, and the message. */
const NAME = 'Squad';
export const EMAIL = 'squad@localhost';

/** For every call about branches: an agent may have set objects to be read as others. */
export const COMMITTER = {
  GIT_AUTHOR_NAME: NAME,
  GIT_AUTHOR_EMAIL: EMAIL,
  GIT_COMMITTER_NAME: NAME,
  GIT_COMMITTER_EMAIL: EMAIL,
  GIT_NO_REPLACE_OBJECTS: '1',
};

/** What a tree has under a path. */
export interface Entry {
  mode: string;
  oid: string;
}

export interface Change {
  /** Bytes, one character each. */
  path: string;
  was: Entry | null;
  is: Entry | null;
}

/** Whether it may be run does not count: not every disk can tell. */
export const sameContent = (one: Entry | null, other: Entry | null): boolean =>
  one?.oid === other?.oid && (one?.mode === '120000') === (other?.mode === '120000');

export const asBytes = (path: string): string => Buffer.from(path).toString('latin1');

/** An index of our own, so that nobody else's is touched while commits are made. */
export class ScratchIndex {
  readonly file: string;
  readonly #git: Git;

  constructor(git: Git, file: string) {
    this.file = file;
    this.#git = git;
  }

  run(args: string[], input?: GitRun['input'], limitMs?: number): Promise<Buffer> {
    const env = { ...COMMITTER, GIT_INDEX_FILE: this.file };
    return this.#git.run(['-c', 'core.splitIndex=false', ...args], { env, input, limitMs });
  }

  /** Null takes the path out. Conflicts at it are over with that. Paths are bytes, one character each. */
  async set(entries: readonly (readonly [path: string, entry: Entry | null])[]): Promise<void> {
    const gone = entries.flatMap(([path, entry]) => (entry ? [] : [`${path}\0`]));
    const there = entries.flatMap(([path, entry]) =>
      entry ? [`${entry.mode} ${entry.oid}\t${path}\0`] : [],
    );
    const update = (args: string[], lines: string[]) =>
      this.run(['update-index', ...args], Buffer.from(lines.join(''), 'latin1'));
    if (gone.length > 0) await update(['--force-remove', '-z', '--stdin'], gone);
    if (there.length > 0) await update(['--add', '--replace', '-z', '--index-info'], there);
  }

  async changes(command: 'diff-index' | 'diff-files', ...args: string[]): Promise<Change[]> {
    const output = await this.run([command, '--raw', '-z', '--no-renames', '--no-abbrev', ...args]);
    const tokens = output.toString('latin1').split('\0');
    return tokens.flatMap((token, at) =>
      token.startsWith(':') && at % 2 === 0 ? [parseChange(token, tokens[at + 1] ?? '')] : [],
    );
  }

  // In a partial clone not every file is here, nor needed.
  writeTree = async (): Promise<string> => line(await this.run(['write-tree', '--missing-ok']));

  async commit(parent: string, message: string): Promise<string> {
    return this.commitTree(await this.writeTree(), parent, message);
  }

  async commitTree(tree: string, parent: string, message: string): Promise<string> {
    const text = Buffer.from(message.replaceAll('\0', ' '));
    const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', tree, '-p', parent, '-F', '-'];
    return line(await this.run(args, text));
  }
}

/** In git's own folder when it is to become the index later: only there a rename is enough. */
export async function withScratchIndex<T>(
  git: Git,
  use: (index: ScratchIndex) => Promise<T>,
  parent = tmpdir(),
): Promise<T> {
  const folder = await mkdtemp(join(parent, 'squad-index-'));
  try {
    return await use(new ScratchIndex(git, join(folder, 'index')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a commit has at a path; null: nothing. A folder is an entry too, of mode 040000. */
export async function entryAt(git: Git, commit: string, path: string): Promise<Entry | null> {
  const args = ['ls-tree', '-z', '--full-tree', commit, '--', path];
  return parseEntry(String(await git.run(args, { env: COMMITTER })));
}

export const line = (output: Buffer): string => String(output).trim();

/** `100644 blob 1234…\tpath` */
function parseEntry(output: string): Entry | null {
  const [, mode, oid] = /^(\d+) \w+ (\w+)\t/.exec(output) ?? [];
  return mode && oid ? { mode, oid } : null;
}

/** `:100644 100755 1234… 5678… M` */
function parseChange(raw: string, path: string): Change {
  const [wasMode = '', isMode = '', wasOid = '', isOid = ''] = raw.slice(1).split(' ');
  const entry = (mode: string, oid: string) => (mode === '000000' ? null : { mode, oid });
  return { path, was: entry(wasMode, wasOid), is: entry(isMode, isOid) };
}
