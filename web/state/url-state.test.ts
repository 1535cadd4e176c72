import { expect, test } from 'vitest';
import { withQuery } from './url-state.ts';

test('a field is set, changed and taken out, the others stay', () => {
  expect(withQuery('/', { need: 'failed' })).toBe('/?need=failed');
  expect(withQuery('/?need=failed&w=%2Fa', { need: 'done' })).toBe('/?need=done&w=%2Fa');
  expect(withQuery('/?need=failed&w=%2Fa', { need: null })).toBe('/?w=%2Fa');
  expect(withQuery('/?q=x', { q: '' })).toBe('/');
});
