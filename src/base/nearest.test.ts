import { describe, expect, it } from 'vitest';
import { nearest } from './text.ts';

const roles = ['architect', 'backend-developer', 'coder', 'frontend-developer', 'planner', 'reviewer'];

describe('nearest', () => {
  it.each([
    ['frontend-develper', ['frontend-developer']],
    ['Coder', ['coder']],
    ['codre', ['coder']],
    ['ocdre', ['coder']],
    ['front', ['frontend-developer']],
    ['planner-2', ['planner']],
    ['reveiwer', ['reviewer']],
  ])('finds what %s stands for', (wanted, expected) => {
    expect(nearest(wanted, roles)).toEqual(expected);
  });

  it.each(['zzz', '', 'completely-different-thing'])('suggests nothing for %j', wanted => {
    expect(nearest(wanted, roles)).toEqual([]);
  });

  it('puts the closest first and gives at most three', () => {
    expect(nearest('cat', ['cart', 'bat', 'cat', 'catalogue', 'hat', 'dog'])).toEqual(['cat', 'bat', 'cart']);
  });

  it('does not spend time on a huge word', () => {
    expect(nearest('x'.repeat(5_000_000), roles)).toEqual([]);
  });
});
