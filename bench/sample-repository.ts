import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = 100;

export function git(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8' }).trim();
}

/** A repository with one commit of that many small files. */
export function makeRepository(folder: string, files: number): void {
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '-q', '-b', 'main');
  for (let at = 0; at < files; at++) {
    const place = join(folder, `folder-${at % FOLDERS}`);
    if (at < FOLDERS) mkdirSync(place, { recursive: true });
    writeFileSync(join(place, `file-${at}.txt`), `${at}\n`);
  }
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'First');
}
