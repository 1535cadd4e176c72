import { describe, expect, it } from 'vitest';
import { isSameWish, mergeFlags, NO_WISH, planInput } from './merge-request.ts';

describe('a wish for a merge', () => {
  it('asks for nothing unless something was said, as the command does', () => {
    expect(planInput(NO_WISH)).toEqual({});
    expect(mergeFlags(NO_WISH)).toBe('');
    expect(planInput({ into: '  ', check: 'command', command: ' ' })).toEqual({});
  });

  it('is the same in the command, each value as one word', () => {
    const wish = { into: ' next ', check: 'command', command: "npm test -- 'a b'" } as const;
    expect(planInput(wish)).toEqual({ into: 'next', check: "npm test -- 'a b'" });
    expect(mergeFlags(wish)).toBe(` --into next --check 'npm test -- '\\''a b'\\'''`);
  });

  it('can be without the check, whatever was typed for one', () => {
    const wish = { into: '', check: 'none', command: 'npm test' } as const;
    expect(planInput(wish)).toEqual({ check: false });
    expect(mergeFlags(wish)).toBe(' --no-check');
  });

  it('is another when it asks for something else', () => {
    expect(isSameWish(NO_WISH, { ...NO_WISH, into: ' ', command: 'kept for later' })).toBe(true);
    expect(isSameWish(NO_WISH, { ...NO_WISH, into: 'next' })).toBe(false);
    expect(isSameWish(NO_WISH, { ...NO_WISH, check: 'none' })).toBe(false);
  });
});
