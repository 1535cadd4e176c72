import { expect, test } from 'vitest';
import { diffFiles } from './diff-files.ts';

test('the files of a diff, by their names now', () => {
  const text = [
    '# a note of ours',
    'diff --git a/one.txt b/one.txt\nindex 1..2\n+diff --git a/x b/x\n',
    'diff --git a/old name b/new name\nsimilarity index 100%\n',
    'diff --git "a/\\033x" "b/\\033x"\n',
  ].join('\n');
  expect(diffFiles(text).map(({ path }) => path)).toEqual(['one.txt', 'new name', '\\033x']);
  expect(diffFiles(text)[0]?.body).toContain('+diff --git');
  expect(diffFiles('')).toEqual([]);
});
