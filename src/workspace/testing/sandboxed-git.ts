/** Fixture for tests of sandboxed runs: a work tree, and an agent's git behind real mounts. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import type { Mount } from '../../core/ports/turns.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { WorktreeFixture } from './worktree-fixture.ts';

/** Builds a minimal bubblewrap command in which git works: system folders and the mounts. */
export function bubblewrap(mounts: readonly Mount[], cwd: string, argv: readonly string[]): string[] {
  const bind = ({ path, from, access }: Mount) =>
    from === null ? ['--tmpfs', path] : [access === 'read' ? '--ro-bind' : '--bind', from, path];
  return [
    ...['--unshare-all', '--die-with-parent', '--cap-drop', 'ALL'],
    ...['/usr', '/etc'].flatMap(path => ['--ro-bind', path, path]),
    ...['bin', 'sbin', 'lib', 'lib64'].flatMap(name => ['--symlink', `usr/${name}`, `/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...mounts.flatMap(bind),
    ...['--chdir', cwd, '--', ...argv],
  ];
}

export class SandboxFixture extends WorktreeFixture {
  worktree!: Worktree;
  mounts: Mount[] = [];

  /** Creates the work tree if it does not exist, and the mounts for its agent. */
  async confine(access: 'read' | 'write' = 'write', isInUse = false): Promise<void> {
    this.worktree ??= await this.made();
    this.mounts = await this.worktrees.confine(this.worktree, access, isInUse);
  }

  collect = () => this.worktrees.collect(this.worktree);

  /** Runs a shell script of the agent in the sandbox. Returns its output. */
  sh(script: string, cwd = this.worktree.path): string {
    const args = bubblewrap(this.mounts, cwd, ['sh', '-ec', script]);
    return execFileSync('bwrap', args, {
      env: this.agentEnv,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  start(script: string): ChildProcess {
    const args = bubblewrap(this.mounts, this.worktree.path, ['sh', '-ec', script]);
    return spawn('bwrap', args, { env: this.agentEnv, stdio: 'ignore' });
  }

  readonly agentEnv = { PATH: '/usr/bin:/bin', HOME: '/tmp' };

  get branch(): string {
    return this.worktree.branch;
  }

  tip = (ref = this.branch): string => this.repo.git('rev-parse', ref).trim();
  subjects = (ref = this.branch): string[] => this.repo.git('log', '--format=%s', ref).trim().split('\n');
  /** Runs the user's own git in the work tree, outside the sandbox. */
  outside = (...args: string[]): string => this.repo.git('-C', this.worktree.path, ...args);
  saved = (): string[] =>
    this.repo.git('for-each-ref', '--format=%(refname)', 'refs/squad').split('\n').filter(Boolean);
}
