import { expect, test } from 'vitest';
import { SquadError } from '../schema/error.ts';
import { withWebHint } from './web-parts.ts';

const unset = new SquadError('ENGINE_NOT_SET', 'No engine is set', { suggestions: ['Install one.'] });

test('who misses an engine at the page is told how to lend it the environment of a terminal', () => {
  expect(withWebHint(unset, { client: 'page' })).toMatchObject({
    code: 'ENGINE_NOT_SET',
    message: 'No engine is set',
    suggestions: [expect.stringContaining('`squad open`'), 'Install one.'],
  });
});

test('others have an environment of their own, and other refusals another reason', () => {
  expect(withWebHint(unset, { client: 'terminal' })).toBe(unset);
  const other = new SquadError('RUN_UNKNOWN', 'There is no run x');
  expect(withWebHint(other, { client: 'page' })).toBe(other);
});
