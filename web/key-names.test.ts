import { describe, expect, test } from 'vitest';
import { matchOf, shownKey, stepPressed, stepsOf } from './key-names.ts';

const press = (key: string, held: { ctrlKey?: boolean; metaKey?: boolean; altKey?: boolean } = {}) =>
  stepPressed({ key, ctrlKey: false, metaKey: false, altKey: false, ...held });

describe('a key as it is written', () => {
  test.each([
    ['j', ['j']],
    ['g r', ['g', 'r']],
    ['ctrl+k', ['ctrl+k']],
    ['esc', ['escape']],
    ['Enter', ['enter']],
    ['N', ['N']],
    ['+', ['+']],
  ])('%s', (key, steps) => expect(stepsOf(key)).toEqual(steps));
});

describe('a key as it is pressed', () => {
  test('Ctrl and ⌘ are the same', () => {
    expect(press('k', { ctrlKey: true })).toBe('ctrl+k');
    expect(press('k', { metaKey: true })).toBe('ctrl+k');
  });

  test('a capital is another key than its letter', () => {
    expect(press('N')).toBe('N');
    expect(press('n')).toBe('n');
  });

  test('a modifier alone, and whatever Alt is held with, is none', () => {
    expect(press('Shift')).toBeNull();
    expect(press('j', { altKey: true })).toBeNull();
  });

  test('named keys and the space have names', () => {
    expect([press('Escape'), press('ArrowDown'), press(' ')]).toEqual(['escape', 'arrowdown', 'space']);
  });
});

describe('keys pressed so far', () => {
  test('is a key, begins one, or is none', () => {
    expect(matchOf('g r', ['g'])).toBe('begins');
    expect(matchOf('g r', ['g', 'r'])).toBe('whole');
    expect(matchOf('g r', ['g', 's'])).toBeNull();
    expect(matchOf('g', ['g', 'r'])).toBeNull();
    expect(matchOf('esc', ['escape'])).toBe('whole');
  });
});

test('keys are shown as people know them', () => {
  expect(shownKey('ctrl+k')).toBe('Ctrl K');
  expect(shownKey('ctrl+k', true)).toBe('⌘K');
  expect(shownKey('g r')).toBe('g r');
  expect(shownKey('down')).toBe('↓');
});
