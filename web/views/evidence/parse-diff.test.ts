import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseDiff } from './parse-diff.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-diff-'));
afterAll(() => rmSync(folder, { recursive: true }));
const git = (...args: string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    encoding: 'utf8',
  });
const write = (path: string, content: string | Buffer) => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), content);
};

describe('output of git', () => {
  test('is read file by file, whatever their names and kinds', () => {
    git('init', '-q');
    const body = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`).join('');
    write('src/a b.ts', body);
    write('gone.txt', 'one\ntwo\n');
    write('old name.md', body);
    write('binary', Buffer.from([0, 1, 2, 3]));
    write('é "q".txt', 'x\n');
    write('mode.sh', 'x\n');
    write('no-newline', 'end');
    git('add', '-A');
    git('commit', '-qm', 'one');
    write('src/a b.ts', body.replace('line 2\n', 'changed 2\n').replace('line 28\n', ''));
    rmSync(join(folder, 'gone.txt'));
    git('mv', 'old name.md', 'new name.md');
    write('binary', Buffer.from([0, 9, 9]));
    write('é "q".txt', 'y\n');
    chmodSync(join(folder, 'mode.sh'), 0o755);
    write('no-newline', 'other end');
    write('added.txt', '--- a/looks like a header\n+++ b/too\n@@ -1 +1 @@\n');
    git('add', '-A');
    const files = parseDiff(git('diff', '--cached', '-M'));
    const told = files.map(({ path, oldPath, change, insertions, deletions }) => [
      ...[path, oldPath, change, insertions, deletions],
    ]);
    expect(told).toEqual([
      ['added.txt', null, 'added', 3, 0],
      ['binary', null, 'changed', 0, 0],
      ['gone.txt', null, 'deleted', 0, 2],
      ['mode.sh', null, 'changed', 0, 0],
      ['new name.md', 'old name.md', 'renamed', 0, 0],
      ['no-newline', null, 'changed', 1, 1],
      ['src/a b.ts', null, 'changed', 1, 2],
      ['é "q".txt', null, 'changed', 1, 1],
    ]);
    const named = new Map(files.map(file => [file.path, file]));
    expect(named.get('binary')?.isBinary).toBe(true);
    expect(named.get('mode.sh')?.modes).toBe('100644 → 100755');
    const { hunks } = named.get('src/a b.ts')!;
    expect(hunks).toHaveLength(2);
    expect(hunks[0]!.lines.slice(0, 4)).toEqual([
      { kind: 'same', text: 'line 1', oldLine: 1, newLine: 1 },
      { kind: 'removed', text: 'line 2', oldLine: 2, newLine: null },
      { kind: 'added', text: 'changed 2', oldLine: null, newLine: 2 },
      { kind: 'same', text: 'line 3', oldLine: 3, newLine: 3 },
    ]);
    expect(hunks[1]!.lines.find(({ kind }) => kind === 'removed')).toMatchObject({ oldLine: 28 });
    expect(hunks[1]!.lines.at(-1)).toMatchObject({ oldLine: 30, newLine: 29 });
    expect(named.get('no-newline')!.hunks[0]!.lines.map(({ kind }) => kind)).toEqual([
      ...['removed', 'note', 'added', 'note'],
    ]);
    expect(named.get('added.txt')!.hunks[0]!.lines.map(({ text }) => text)).toEqual([
      ...['--- a/looks like a header', '+++ b/too', '@@ -1 +1 @@'],
    ]);
  });

  test('may be cut anywhere', () => {
    const whole = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn\n a\n-b\n+c\n d\n';
    for (let length = 0; length <= whole.length; length++) {
      const [file] = parseDiff(whole.slice(0, length));
      expect(file?.insertions ?? 0).toBeLessThanOrEqual(1);
    }
    expect(parseDiff(whole)[0]!.hunks[0]).toMatchObject({ context: 'fn', oldStart: 1, newStart: 1 });
    expect(parseDiff('nothing of the kind\n')).toEqual([]);
  });

  test('ends a hunk where its count does', () => {
    const [first, second] = parseDiff(
      'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- not a line of it\ndiff --git a/y b/y\n',
    );
    expect([first!.deletions, first!.hunks[0]!.lines.length, second!.path]).toEqual([1, 2, 'y']);
  });
});
