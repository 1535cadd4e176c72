import { expect, test } from 'vitest';
import { folderError } from './folder-error.ts';

test.each(['/p', '/my project', 'C:\\p', 'c:/p', '\\\\host\\p'])('a whole path is one: %s', path => {
  expect(folderError(path)).toBeNull();
});

test.each(['p', './p', '~/p', '../p'])('what depends on where somebody stands is none: %s', path => {
  expect(folderError(path)).toMatch(/^Folder must be an absolute path/);
});

test('a folder that is missing is said to be', () => {
  expect(folderError('')).toMatch(/^Enter the absolute path/);
});
