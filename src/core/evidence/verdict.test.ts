import { describe, expect, test } from 'vitest';
import { type VerdictFacts, verdict } from './evidence.ts';

/** A run that completed, said something, and was seen to do nothing. */
const spoke: VerdictFacts = {
  status: 'completed',
  exitCode: 0,
  hasOutput: true,
  structured: null,
  filesChanged: 0,
  commits: 0,
  toolCalls: 3,
  toolFailures: 0,
  toolDenials: 0,
  toolEdits: 0,
  isShared: false,
  isElsewhere: false,
};
const of = (facts: Partial<VerdictFacts>) => verdict({ ...spoke, ...facts });

describe('a run that completed', () => {
  test('with words only has claimed', () => {
    expect(of({})).toBe('claimed');
    expect(of({ filesChanged: null, commits: null })).toBe('claimed');
  });

  test('with nothing at all is empty', () => {
    expect(of({ hasOutput: false })).toBe('empty');
    expect(of({ hasOutput: false, filesChanged: null, commits: null, toolCalls: null })).toBe('empty');
  });

  test('with something to show for it is verified', () => {
    expect(of({ filesChanged: 1 })).toBe('verified');
    expect(of({ commits: 1 })).toBe('verified');
    expect(of({ structured: 'valid' })).toBe('verified');
    expect(of({ filesChanged: 1, toolDenials: 1, toolFailures: 3 })).toBe('verified');
  });

  test('with work on another branch than its own has claimed', () => {
    expect(of({ filesChanged: 1, commits: 1, toolEdits: 1, isElsewhere: true })).toBe('claimed');
  });

  test('and failed by its exit code or its schema is contradicted, whatever it changed', () => {
    expect(of({ exitCode: 1, filesChanged: 1 })).toBe('contradicted');
    expect(of({ exitCode: 139, filesChanged: 1 })).toBe('contradicted');
    expect(of({ structured: 'invalid', filesChanged: 1 })).toBe('contradicted');
  });

  test.each([129, 130, 137, 143])('is judged as usual when it was killed after its end: %i', exitCode => {
    expect(of({ exitCode, filesChanged: 1 })).toBe('verified');
    expect(of({ exitCode })).toBe('claimed');
  });

  test('and reported edits that git does not show has claimed: ignored files are files too', () => {
    expect(of({ toolEdits: 2 })).toBe('claimed');
    expect(of({ toolEdits: 2, hasOutput: false })).toBe('claimed');
    expect(of({ toolEdits: 2, structured: 'valid' })).toBe('verified');
  });

  test('but could use no tool, with nothing to show, is contradicted', () => {
    expect(of({ toolDenials: 1 })).toBe('contradicted');
    expect(of({ toolFailures: 3 })).toBe('contradicted');
    expect(of({ toolFailures: 2 })).toBe('claimed');
    expect(of({ toolCalls: 0 })).toBe('claimed');
  });

  test('in a folder others worked in needs its own word for the changes', () => {
    expect(of({ filesChanged: 4, isShared: true })).toBe('claimed');
    expect(of({ filesChanged: 4, isShared: true, toolEdits: 1 })).toBe('verified');
    expect(of({ filesChanged: 0, isShared: true, toolEdits: 1 })).toBe('claimed');
  });
});

describe.each(['error', 'timeout', 'cancelled', 'terminated', 'abandoned', 'lost'] as const)(
  'a run that ended %s',
  status => {
    test('is empty when it left nothing', () => {
      expect(of({ status, hasOutput: false, exitCode: null })).toBe('empty');
    });

    test('has claimed when it left something, and is never verified', () => {
      expect(of({ status })).toBe('claimed');
      expect(of({ status, hasOutput: false, filesChanged: 2 })).toBe('claimed');
      expect(of({ status, hasOutput: false, commits: 1, structured: 'valid' })).toBe('claimed');
    });

    test('is contradicted by an answer that does not fit its schema', () => {
      expect(of({ status, structured: 'invalid' })).toBe('contradicted');
    });
  },
);
