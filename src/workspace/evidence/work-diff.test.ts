import { execFileSync } from 'node:child_process';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Repository } from '../testing/repository.ts';
import { createWorkTree } from './changes.ts';

let repo: Repository;
beforeEach(() => {
  repo = new Repository();
  repo.write('a.txt', 'one\ntwo\n');
  repo.write('b.txt', 'bee\n');
  repo.write('gone.txt', 'x\n');
  repo.commit('First');
});
afterEach(() => repo.remove());

async function diffOf(work: () => void, maxBytes = 1_000_000) {
  const tree = createWorkTree(repo.env);
  const before = (await tree.snapshot(repo.root)).snapshot!;
  work();
  return tree.diff(repo.root, before, { maxBytes });
}

test('applied to what was there before, it gives what is there now', async () => {
  repo.git('clone', '-q', repo.root, join(repo.folder, 'copy'));
  const { text, isTruncated } = await diffOf(() => {
    repo.append('a.txt', 'three\n');
    repo.commit('Second');
    repo.write('b.txt', 'wasp');
    repo.delete('gone.txt');
    repo.write('dir/new "file".txt', 'no line end');
    repo.write('grüße.txt', 'eins\nzwei\n');
    repo.write('empty.txt', '');
    repo.write('run.sh', '#!/bin/sh\n');
    chmodSync(repo.path('run.sh'), 0o755);
    symlinkSync('a.txt', repo.path('link'));
  });
  expect(isTruncated).toBe(false);
  expect(text).not.toContain('\x1b');
  writeFileSync(join(repo.folder, 'the.diff'), text);
  const copy = join(repo.folder, 'copy');
  repo.git('-C', copy, 'apply', join(repo.folder, 'the.diff'));
  execFileSync('diff', ['-r', '--no-dereference', '--exclude=.git', repo.root, copy]);
});

test('has no words of a reviewer, which Squad put there, and has a file of that name that an agent wrote', async () => {
  const tree = createWorkTree(repo.env);
  const from = repo.git('rev-parse', 'HEAD').trim();
  const given = await diffOf(() => {
    repo.append('a.txt', 'three\n');
    repo.commit('Work');
    repo.write('REVIEW_FEEDBACK.md', 'More.\n');
    repo.git('add', '-A');
    repo.git('commit', '-qm', 'Feedback of review 1', '--author=Squad <squad@localhost>');
  });
  expect(given.text).toContain('+three');
  expect(given.text).not.toContain('REVIEW_FEEDBACK.md');
  const to = repo.git('rev-parse', 'HEAD').trim();
  const onBranch = await tree.commitDiff(repo.root, from, to, { maxBytes: 10_000 });
  expect(onBranch.text).toContain('+three');
  expect(onBranch.text).not.toContain('REVIEW_FEEDBACK.md');
  expect((await tree.commitChanges(repo.root, from, to)).files).toMatchObject([{ path: 'a.txt' }]);
  const own = await diffOf(() => {
    repo.write('REVIEW_FEEDBACK.md', 'Mine.\n');
    repo.commit('Mine');
  });
  expect(own.text).toContain('+Mine.');
});

test('binary files are named', async () => {
  repo.write('old.bin', Buffer.from([0, 1]));
  repo.commit('Binary');
  const { text } = await diffOf(() => {
    repo.write('old.bin', Buffer.from([0, 2]));
    repo.write('new.bin', Buffer.from([0, 3]));
  });
  expect(text).toContain('Binary files a/old.bin and b/old.bin differ\n');
  expect(text).toContain('Binary files /dev/null and b/new.bin differ\n');
});

test('a file that was dirty before is labelled, one that was not touched again is left out', async () => {
  repo.append('a.txt', 'mine\n');
  repo.append('b.txt', 'mine\n');
  repo.write('draft.txt', 'mine\n');
  const { text } = await diffOf(() => {
    repo.append('a.txt', 'theirs\n');
    repo.delete('draft.txt');
  });
  expect(text).toContain('# The files below had uncommitted changes before the run.');
  expect(text).toContain('# M a.txt\n# D draft.txt (deleted)\n');
  expect(text).toContain('+mine\n+theirs\n');
  expect(text).not.toContain('b.txt');
});

test('nothing changed is no text', async () => {
  repo.append('a.txt', 'mine\n');
  expect(await diffOf(() => {})).toEqual({ text: '', isTruncated: false });
});

test('a diff is cut at a whole line, and says so', async () => {
  const { text, isTruncated } = await diffOf(() => {
    repo.write('a.txt', 'ü'.repeat(50).concat('\n').repeat(400));
    repo.write('new.txt', 'y\n'.repeat(10_000));
  }, 5000);
  expect(isTruncated).toBe(true);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
  expect(text.endsWith('ü\n')).toBe(true);
});

test('a new file too big to show, and one whose name is no text, are named all the same', async () => {
  const strange = Buffer.from(`${repo.root}/\xff.txt`, 'latin1');
  writeFileSync(strange, 'x\n');
  repo.git('add', '-A');
  repo.commit('Strange');
  const { text } = await diffOf(() => {
    writeFileSync(strange, 'changed\n');
    repo.write('big.txt', 'z'.repeat(9 * 1024 * 1024));
  });
  expect(text).toContain('# M "\\377.txt": not shown, because its name is not valid UTF-8\n');
  expect(text).toContain('# big.txt is new: 9437184 bytes, too many to show, or not readable\n');
});

test('more names than one call can take are shown all', async () => {
  const name = (n: number) => `${'long-folder-name/'.repeat(10)}${n}.txt`;
  for (let n = 0; n < 1000; n++) repo.write(name(n), 'x\n');
  repo.commit('Many');
  const { text } = await diffOf(() => {
    for (let n = 0; n < 1000; n++) repo.write(name(n), `y${n}\n`);
  });
  expect(text.match(/^\+y\d+$/gm)).toHaveLength(1000);
});

test('a file that git cannot read is reported, and new files are still shown', async () => {
  const { text } = await diffOf(() => {
    repo.delete('a.txt');
    execFileSync('mkfifo', [repo.path('a.txt')]);
    repo.write('new.txt', 'new\n');
  });
  expect(text).toContain('# Not shown (git failed: cannot hash a.txt), files: 1\n');
  expect(text).toContain('+new\n');
});
