import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A repository as the host keeps it. */
export class BareRepository {
  readonly folder: string;
  readonly httpUrl: string;
  readonly defaultBranch = 'main';
  /** Message of the hook when it refuses a push. */
  static readonly REFUSAL = 'GH006: Protected branch update failed';

  constructor(folder: string, httpUrl: string) {
    this.folder = folder;
    this.httpUrl = httpUrl;
    mkdirSync(folder, { recursive: true });
    this.git('init', '-q', '--bare', '-b', this.defaultBranch);
    this.git('config', 'http.receivepack', 'true');
  }

  get fileUrl(): string {
    return pathToFileURL(this.folder).href;
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.folder, env: this.env, encoding: 'utf8', stdio: 'pipe' });
  }

  tip(branch: string): string | null {
    const { status, stdout } = spawnSync('git', ['rev-parse', '--verify', '-q', `refs/heads/${branch}`], {
      ...{ cwd: this.folder, env: this.env, encoding: 'utf8' as const },
    });
    return status === 0 ? stdout.trim() : null;
  }

  /** Commits on a branch that another has not. */
  ahead(head: string, base: string): number {
    return Number(this.git('rev-list', '--count', `refs/heads/${base}..refs/heads/${head}`));
  }

  files(branch: string): string[] {
    return this.git('ls-tree', '-r', '--name-only', `refs/heads/${branch}`).split('\n').filter(Boolean);
  }

  /** Every push is refused from now on. */
  protect(): void {
    this.hook('pre-receive', `echo '${BareRepository.REFUSAL}' >&2; exit 1`);
  }

  hook(name: string, script: string): void {
    const file = join(this.folder, 'hooks', name);
    mkdirSync(join(this.folder, 'hooks'), { recursive: true });
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  private get env() {
    return { PATH: process.env.PATH, HOME: this.folder, GIT_CONFIG_NOSYSTEM: '1' };
  }
}
