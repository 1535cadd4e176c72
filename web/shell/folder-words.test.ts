import { expect, test } from 'vitest';
import { folderTrouble, inFieldWords } from './folder-words.ts';

test.each(['/p', '/my project', 'C:\\p', 'c:/p', '\\\\host\\p'])('a whole path is one: %s', path => {
  expect(folderTrouble(path)).toBeNull();
});

test.each(['p', './p', '~/p', '../p'])('what depends on where somebody stands is none: %s', path => {
  expect(folderTrouble(path)).toMatch(/^Folder must be an absolute path/);
});

test('a folder that is missing is said to be', () => {
  expect(folderTrouble('')).toMatch(/^Folder is missing/);
});

test('nobody at the page has sent a header', () => {
  expect(inFieldWords('The workspace /p (from the Squad-Workspace header) does not exist.')).toBe(
    'Folder /p does not exist.',
  );
  expect(inFieldWords('Role "x" is not known')).toBe('Role "x" is not known');
});
