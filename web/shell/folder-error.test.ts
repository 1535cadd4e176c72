import { expect, test } from 'vitest';
import { folderError } from './folder-error.ts';

test.each(['/p', '/my project', 'C:\\p', 'c:/p', '\\\\host\\p'])('a whole path is one: %s', path => {
  expect(folderError(path)).toBeNull();
});

test.each(['p', './p', '~/p', '../p'])(
  'a path that depends on the present folder is not accepted: %s',
  path => {
    expect(folderError(path)).toMatch(/^Folder must be an absolute path/);
  },
);

test('a folder that is missing is said to be', () => {
  expect(folderError('')).toMatch(/^Enter the absolute path/);
});
