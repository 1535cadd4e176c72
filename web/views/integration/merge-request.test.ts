import { describe, expect, it } from 'vitest';
import { DEFAULT_REQUEST, isSameRequest, mergeFlags, planInput } from './merge-request.ts';

describe('a request for a merge', () => {
  it('asks for nothing unless something was said, as the command does', () => {
    expect(planInput(DEFAULT_REQUEST)).toEqual({});
    expect(mergeFlags(DEFAULT_REQUEST)).toBe('');
    expect(planInput({ into: '  ', check: 'command', command: ' ' })).toEqual({});
  });

  it('is the same in the command, each value as one word', () => {
    const request = { into: ' next ', check: 'command', command: "npm test -- 'a b'" } as const;
    expect(planInput(request)).toEqual({ into: 'next', check: "npm test -- 'a b'" });
    expect(mergeFlags(request)).toBe(` --into next --check 'npm test -- '\\''a b'\\'''`);
  });

  it('can be without the check, whatever was typed for one', () => {
    const request = { into: '', check: 'none', command: 'npm test' } as const;
    expect(planInput(request)).toEqual({ check: false });
    expect(mergeFlags(request)).toBe(' --no-check');
  });

  it('is another when it asks for something else', () => {
    expect(isSameRequest(DEFAULT_REQUEST, { ...DEFAULT_REQUEST, into: ' ', command: 'kept for later' })).toBe(
      true,
    );
    expect(isSameRequest(DEFAULT_REQUEST, { ...DEFAULT_REQUEST, into: 'next' })).toBe(false);
    expect(isSameRequest(DEFAULT_REQUEST, { ...DEFAULT_REQUEST, check: 'none' })).toBe(false);
  });
});
