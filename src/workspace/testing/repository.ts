/** Fixture for the tests in this folder: a real repository in a temporary folder, without the user's git settings. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export class Repository {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-git-')));
  readonly root = join(this.folder, 'repo');
  /** Environment for the code under test. */
  readonly env = { PATH: process.env.PATH, HOME: join(this.folder, 'home') };

  constructor(...init: string[]) {
    mkdirSync(this.env.HOME);
    mkdirSync(this.root);
    this.git('init', '-q', '-b', 'main', ...init);
  }

  git(...args: string[]): string {
    const name = 'Test';
    const identity = {
      GIT_AUTHOR_NAME: name,
      GIT_COMMITTER_NAME: name,
      GIT_AUTHOR_EMAIL: 't@t',
      GIT_COMMITTER_EMAIL: 't@t',
    };
    const env = { ...this.env, ...identity, GIT_CONFIG_NOSYSTEM: '1' };
    return execFileSync('git', args, {
      cwd: this.root,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  write(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  append = (path: string, content: string): void => appendFileSync(join(this.root, path), content);
  read = (path: string): string => readFileSync(join(this.root, path), 'utf8');
  delete = (path: string): void => rmSync(join(this.root, path));
  path = (path: string): string => join(this.root, path);

  /** Commits all files. A snapshot uses the commit's date to decide whether the commit is older. */
  commit(message: string): string {
    this.git('add', '-A');
    this.git('commit', '-q', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD').trim();
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
