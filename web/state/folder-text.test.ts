import { expect, test } from 'vitest';
import { withFolderNames, withoutHeaderHints } from './folder-text.ts';

test('errors do not mention request headers to a user of the web UI', () => {
  expect(withFolderNames('The workspace /p (from the Squad-Workspace header) does not exist.')).toBe(
    'Folder /p does not exist.',
  );
  expect(withFolderNames('Role "x" is not known')).toBe('Role "x" is not known');
  expect(withoutHeaderHints(['Name it: "Squad-Workspace: /absolute/path", in UTF-8.', 'Or wait.'])).toEqual([
    'Choose another folder.',
    'Or wait.',
  ]);
});
