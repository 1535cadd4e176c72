import { expect, test } from 'vitest';
import { runName } from './run-text.ts';

test('a run is called by its role, its subagent or its engine, whoever tells of it', () => {
  const bare = { roleId: null, engine: 'native' };
  expect(runName({ roleId: 'coder', engine: 'claude', subagent: null })).toBe('coder');
  expect(runName({ ...bare, subagent: 'review_changes' })).toBe('review_changes');
  expect(runName({ ...bare, options: { subagent: 'review_changes' } })).toBe('review_changes');
  expect(runName({ ...bare, options: { subagent: null } })).toBe('native');
});
