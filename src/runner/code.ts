import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { runProgram } from '../process/programs/run-program.ts';
import type { Ops } from './protocol.ts';

const GIT_TIMEOUT_MS = 600_000;
const MAX_OUTPUT = 16 * 1024 * 1024;
const LOCK_TIMEOUT_MS = 10_000;
const MAX_LOCK_MS = 60_000;
const LOCK_LOOK_MS = 100;
const MAX_HAVES = 500;

/** Options that keep Squad's git from running hooks and background maintenance, which would outlive it. */
const OFF = ['core.hooksPath=/dev/null', 'gc.auto=0', 'maintenance.auto=false'].flatMap(each => ['-c', each]);

/**
 * Git on a box: one bare repository for each repository of the hub, with the work trees of its runs. Commits are
 * transferred as bundles.
 */
export class BoxCode {
  private readonly base: string;
  private readonly env: Record<string, string>;
  private readonly queue = new KeyedQueue<string>();

  constructor(base: string, env: Record<string, string>) {
    this.base = base;
    this.env = env;
  }

  async haves({ repo }: Ops['haves']['ask']): Promise<Ops['haves']['answer']> {
    const folder = this.repository(repo);
    if (!existsSync(folder)) return { commits: [] };
    const list = await this.git(folder, ['for-each-ref', '--format=%(objectname)', '--sort=-committerdate']);
    return { commits: [...new Set(list.split('\n').filter(Boolean))].slice(0, MAX_HAVES) };
  }

  /** Brings a work tree to the hub's state: branch and index at `tip`, files as in `work`. */
  async checkout(ask: Ops['checkout']['ask']): Promise<Ops['checkout']['answer']> {
    // One git process at a time works on a repository, because git locks files that all work trees of the repository
    // share.
    const kept = await this.queue.run(ask.repo, () => this.bring(ask));
    if (ask.setup) await this.setUp(this.worktree(ask.worktree), ask.setup);
    return { kept };
  }

  private async bring(ask: Ops['checkout']['ask']): Promise<string | null> {
    const { repo, worktree, branch, ref, tip, work, bundle, author, have } = ask;
    const folder = this.repository(repo);
    if (!existsSync(folder)) {
      // The repository is created under a temporary name and then renamed, because this process may be killed at any
      // time.
      const made = `${folder}.${randomBytes(4).toString('hex')}`;
      mkdirSync(join(folder, '..'), { recursive: true, mode: 0o700 });
      await this.git(this.base, ['init', '-q', '--bare', made]);
      renameSync(made, folder);
    }
    for (const [key, value] of Object.entries(author))
      await this.git(folder, ['config', `user.${key}`, value]);
    // The hub may repeat the request, and then the bundle's file is already gone.
    if (bundle !== null && !(await this.isThere(folder, work))) {
      const file = join(this.base, 'transfer', basename(bundle));
      await this.git(folder, ['fetch', '-q', '--no-tags', '--no-write-fetch-head', file, `+${ref}:${ref}`]);
    }
    if (bundle !== null) rmSync(join(this.base, 'transfer', basename(bundle)), { force: true });
    await this.git(folder, ['update-ref', ref, work]);
    const path = this.worktree(worktree);
    const isMade =
      existsSync(join(path, '.git')) &&
      (await this.does(path, ['rev-parse', '-q', '--verify', 'HEAD^{commit}']));
    // Without the mark, an earlier check-out was interrupted. Its files are neither the agent's work nor the hub's.
    const whole = join(this.base, 'transfer', `${worktree}.whole`);
    const kept = isMade && existsSync(whole) ? await this.keepUnknown(path, worktree, [...have, work]) : null;
    rmSync(whole, { force: true });
    if (!isMade) {
      rmSync(path, { recursive: true, force: true });
      await this.git(folder, ['worktree', 'prune']);
      // A work tree that was not completed is still locked.
      await this.git(folder, ['worktree', 'add', '-q', '-f', '-f', '--detach', path, work]);
    }
    await this.git(path, ['clean', '-fdq']);
    await this.git(path, ['read-tree', '--reset', '-u', work]);
    await this.git(path, ['update-ref', `refs/heads/${branch}`, tip]);
    await this.git(path, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`]);
    await this.git(path, ['reset', '-q']);
    writeFileSync(whole, '');
    return kept;
  }

  /**
   * Saves commits and changes that the hub does not have, under a ref. The hub could not fetch them, or did not wait
   * for them.
   */
  private async keepUnknown(path: string, worktree: string, have: readonly string[]): Promise<string | null> {
    const tip = await this.git(path, ['rev-parse', 'HEAD^{commit}']);
    const work = await this.snapshot(path, worktree, tip);
    const tree = (commit: string) => this.git(path, ['rev-parse', `${commit}^{tree}`]);
    for (const commit of have)
      if (
        (await this.isThere(path, commit)) &&
        (await this.does(path, ['merge-base', '--is-ancestor', tip, commit])) &&
        (await tree(commit)) === (await tree(work))
      )
        return null;
    for (let n = 1; ; n++) {
      const ref = `refs/squad/kept/${worktree}/${n}`;
      if (await this.does(path, ['rev-parse', '-q', '--verify', ref])) continue;
      await this.git(path, ['update-ref', ref, work]);
      return ref;
    }
  }

  /** Creates a bundle of commits that the hub does not have. */
  async collect({ worktree, ref, have }: Ops['collect']['ask']): Promise<Ops['collect']['answer']> {
    const path = this.worktree(worktree);
    if (!existsSync(join(path, '.git')))
      throw Object.assign(new Error(`The work tree of the run is gone: ${path}`), {
        code: 'WORKTREE_MISSING',
      });
    const tip = await this.git(path, ['rev-parse', 'HEAD^{commit}']);
    const work = await this.snapshot(path, worktree, tip);
    await this.git(path, ['update-ref', ref, work]);
    const known: string[] = [];
    for (const commit of have) if (await this.isThere(path, commit)) known.push(`^${commit}`);
    if ((await this.git(path, ['rev-list', '--count', work, ...known])) === '0')
      return { tip, work, bundle: null, size: 0 };
    const bundle = `transfer/${worktree}.bundle`;
    const file = join(this.base, bundle);
    // A leftover lock comes from a git process that was killed, because the hub requests one bundle of a work tree at
    // a time.
    rmSync(`${file}.lock`, { force: true });
    await this.git(path, ['bundle', 'create', '-q', file, ref, ...known]);
    return { tip, work, bundle, size: statSync(file).size };
  }

  /** Commits all files of the work tree, including uncommitted ones, without touching the agent's index. */
  private async snapshot(path: string, worktree: string, tip: string): Promise<string> {
    const index = join(this.base, 'transfer', `${worktree}.index`);
    rmSync(`${index}.lock`, { force: true }); // a leftover of a git process that was killed
    const own = await this.git(path, ['rev-parse', '--path-format=absolute', '--git-path', 'index']);
    if (existsSync(own)) {
      copyFileSync(own, index);
      // The copy keeps the times of the index. With a later time, git would overlook edits of the same size within
      // the second of the check-out.
      const { atime, mtime } = statSync(own);
      utimesSync(index, atime, mtime);
    } else rmSync(index, { force: true });
    const env = { GIT_INDEX_FILE: index };
    await this.git(path, ['add', '-A'], env);
    const tree = await this.git(path, ['write-tree'], env);
    if (tree === (await this.git(path, ['rev-parse', `${tip}^{tree}`]))) return tip;
    return this.git(path, ['commit-tree', tree, '-p', tip, '-m', 'Uncommitted work']);
  }

  /** Runs the set-up command once for each work tree. An interrupted set-up runs again. */
  private async setUp(
    path: string,
    { argv, timeoutMs }: NonNullable<Ops['checkout']['ask']['setup']>,
  ): Promise<void> {
    const done = join(this.base, 'transfer', `${basename(path)}.ready`);
    if (existsSync(done)) return;
    const run = { argv: argv as [string, ...string[]], cwd: path, env: this.env };
    const end = await runProgram({ ...run, limitMs: timeoutMs, maxBytes: MAX_OUTPUT });
    if (end.code === 0) return writeFileSync(done, '');
    const said = end.stderr.trim().split('\n').at(-1) ?? '';
    const why =
      end.cut === 'time' ? `took more than ${timeoutMs / 1000} s` : `ended with exit code ${end.code}`;
    throw Object.assign(new Error(`The set-up command ${argv[0]} ${why}${said && `: ${said}`}`), {
      code: 'SETUP_FAILED',
    });
  }

  private repository = (name: string): string => join(this.base, 'repositories', `${basename(name)}.git`);
  private worktree = (name: string): string => join(this.base, 'worktrees', basename(name));

  private isThere = (path: string, commit: string): Promise<boolean> =>
    this.does(path, ['cat-file', '-e', `${commit}^{commit}`]);

  private does = (path: string, args: string[]): Promise<boolean> =>
    this.git(path, args).then(
      () => true,
      () => false,
    );

  private async git(cwd: string, args: string[], env: Record<string, string> = {}): Promise<string> {
    let held = { by: '', since: performance.now() };
    const until = held.since + MAX_LOCK_MS;
    for (;;) {
      const end = await this.runGit(cwd, args, env);
      if (end.code === 0) return end.stdout.toString().trim();
      // A git process of an agent, or of a killed runner, may still be running.
      const lock = lockIn(end.stderr, cwd);
      if (lock === null || performance.now() > until) throw gitError(args, end);
      const by = `${lock} ${fileAt(lock)}`;
      if (by !== held.by) held = { by, since: performance.now() };
      // No running git holds a lock for so long. It was left by a git process that was killed, or by a machine that
      // went down.
      else if (performance.now() - held.since > LOCK_TIMEOUT_MS && lock.startsWith(`${this.base}/`))
        rmSync(lock, { force: true });
      await delay(LOCK_LOOK_MS);
    }
  }

  private runGit(cwd: string, args: string[], env: Record<string, string>): ReturnType<typeof runProgram> {
    return runProgram({
      argv: ['git', ...OFF, ...args],
      cwd,
      env: { ...this.env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', ...env },
      ...{ limitMs: GIT_TIMEOUT_MS, maxBytes: MAX_OUTPUT },
    });
  }
}

/** The lock file that git could not create. Null if something else failed. */
function lockIn(stderr: string, cwd: string): string | null {
  const [, file, config] =
    /Unable to create '([^'\n]+\.lock)': File exists|could not lock config file (\S.*): File exists/i.exec(
      stderr,
    ) ?? [];
  const lock = file ?? (config === undefined ? null : `${config}.lock`);
  return lock && resolve(cwd, lock);
}

/** Text that identifies the file at a path. */
function fileAt(path: string): string {
  const { ino, mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return `${ino} ${mtimeMs}`;
}

function gitError(args: string[], end: Awaited<ReturnType<typeof runProgram>>): Error {
  const said = end.stderr.split('\n').find(line => /^(fatal|error):/.test(line)) ?? end.stderr.split('\n')[0];
  const code = /no space left|quota exceeded/i.test(end.stderr) ? 'DISK_FULL' : 'GIT_FAILED';
  const message = `git ${args[0]} failed: ${said?.slice(0, 300) || `exit code ${end.code}`}`;
  return Object.assign(new Error(message), { code });
}
