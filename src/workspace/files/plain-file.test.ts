import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isPlainFile, readPlainFile, writePlainFile } from './text-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'squad-plain-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a pipe, a link and a folder are no files, and nobody waits for them', async () => {
  const [pipe, link, target] = ['pipe', 'link', 'target'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  execFileSync('mkfifo', [pipe]);
  writeFileSync(target, 'text');
  symlinkSync(target, link);
  for (const path of [pipe, link, folder, join(folder, 'missing')]) {
    expect(await readPlainFile(path)).toBeNull();
    expect(await isPlainFile(path)).toBe(false);
  }
  expect(String(await readPlainFile(target))).toBe('text');
});

test('a file takes the place of a link, and what that led to stays as it was', async () => {
  const [link, target] = [join(folder, 'link'), join(folder, 'target')];
  writeFileSync(target, 'theirs');
  symlinkSync(target, link);
  await writePlainFile(link, Buffer.from('ours'));
  expect(readFileSync(target, 'utf8')).toBe('theirs');
  expect(readFileSync(link, 'utf8')).toBe('ours');
  expect(lstatSync(link).isFile()).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(['link', 'target']);
});
