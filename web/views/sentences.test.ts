import { describe, expect, it } from 'vitest';
import { sentences } from './sentences.ts';

describe('sentences', () => {
  it('end once each, and empty ones are left out', () => {
    expect(sentences(['It broke', null, 'Try again.', ' ', undefined, 'Why?'])).toBe(
      'It broke. Try again. Why?',
    );
  });
});
