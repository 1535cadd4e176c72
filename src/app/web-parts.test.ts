import { expect, test } from 'vitest';
import { SquadError } from '../schema/error.ts';
import { withWebHint } from './web-parts.ts';

const unset = new SquadError('ENGINE_NOT_SET', 'No engine is set', { suggestions: ['Install one.'] });

test('an engine that the web UI cannot find: the error says how to lend it the environment of a terminal', () => {
  expect(withWebHint(unset, { client: 'page' })).toMatchObject({
    code: 'ENGINE_NOT_SET',
    message: 'No engine is set',
    suggestions: [expect.stringContaining('`squad open`'), 'Install one.'],
  });
});

test('other clients and other errors get no such hint', () => {
  expect(withWebHint(unset, { client: 'terminal' })).toBe(unset);
  const other = new SquadError('RUN_UNKNOWN', 'There is no run x');
  expect(withWebHint(other, { client: 'page' })).toBe(other);
});
