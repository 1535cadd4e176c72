import { expect, test } from 'vitest';
import { inFolderWords, withoutHeader } from './folder-text.ts';

test('nobody at the page has sent a header', () => {
  expect(inFolderWords('The workspace /p (from the Squad-Workspace header) does not exist.')).toBe(
    'Folder /p does not exist.',
  );
  expect(inFolderWords('Role "x" is not known')).toBe('Role "x" is not known');
  expect(withoutHeader(['Name it: "Squad-Workspace: /absolute/path", in UTF-8.', 'Or wait.'])).toEqual([
    'Choose another folder.',
    'Or wait.',
  ]);
});
