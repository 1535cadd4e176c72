import { lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Makes sure that this is a folder and no link. Its parent exists. */
export function realFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found) rmSync(path, { force: true });
  mkdirSync(path, { mode: 0o700 });
}

/** Makes folders below one that an agent can write to, without following links that the agent has left there. */
export function folderBelow(root: string, name: string): string {
  mkdirSync(dirname(root), { recursive: true, mode: 0o700 });
  realFolder(root);
  let folder = root;
  for (const part of name.split('/').filter(each => each !== '' && each !== '.')) {
    folder = join(folder, part);
    realFolder(folder);
  }
  return folder;
}

/** Replaces a file there. */
export function writeBelow(root: string, name: string, content: string | Buffer): string {
  const path = join(folderBelow(root, dirname(name)), basename(name));
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  return path;
}
