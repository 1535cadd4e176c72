import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { shellWord } from './shell-word.ts';

describe('shellWord', () => {
  it.each(['coder', `it's`, '$(touch x) `y` "z"', 'a\nb', '', '-n', '!!\\'])(
    'comes out of a shell as it was: %j',
    word => {
      const { stdout } = spawnSync('/bin/sh', ['-c', `printf '%s' ${shellWord(word)}`], { encoding: 'utf8' });
      expect(stdout).toBe(word);
    },
  );
});
