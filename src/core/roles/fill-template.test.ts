import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillTemplate, placeholders } from './prompt.ts';

const template = {
  name: 'greet',
  body: 'Hello {{who}}, {{ who }}!\n{{note}}',
  arguments: [
    { name: 'who', description: 'x', required: true, default: '' },
    { name: 'note', description: 'x', required: false, default: 'No note.' },
  ],
};

describe('fillTemplate', () => {
  it('puts values and defaults in their places', () => {
    expect(fillTemplate(template, { who: 'Ada' })).toBe('Hello Ada, Ada!\nNo note.');
    expect(fillTemplate(template, { who: 'Ada', note: '' })).toBe('Hello Ada, Ada!\n');
  });

  it.each(['{{note}}', '$& $1 $$', '{{who}}', '{{', '}}', "'; rm -rf / #", 'a\nb'])(
    'takes %j as it is',
    who => {
      expect(fillTemplate(template, { who, note: 'n' })).toBe(`Hello ${who}, ${who}!\nn`);
    },
  );

  it('takes any text as it is', { tags: ['template-injection'] }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), text => {
        const who = `x${text.replaceAll('\0', '')}`;
        expect(fillTemplate(template, { who, note: who })).toBe(`Hello ${who}, ${who}!\n${who}`);
      }),
    );
  });

  it.each([
    [{}, 'greet needs the argument "who".'],
    [{ who: ' \n' }, 'greet needs the argument "who".'],
    [{ who: 'x', nite: 'y' }, 'greet has no argument "nite".'],
    [{ who: 'x', constructor: 'y' }, 'greet has no argument "constructor".'],
  ])('refuses %j', (given, message) => {
    expect(() => fillTemplate(template, given)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message }),
    );
  });

  it('says which argument may have been meant', () => {
    expect(() => fillTemplate(template, { who: 'x', nite: 'y' })).toThrow(
      expect.objectContaining({ suggestions: ['Did you mean note?', 'Its arguments are: who, note.'] }),
    );
  });

  it('refuses text that no program can be given', () => {
    expect(() => fillTemplate(template, { who: 'a\0b' })).toThrow(
      expect.objectContaining({ code: 'INVALID_TEXT' }),
    );
  });
});

describe('placeholders', () => {
  it('are whatever stands in double braces on one line', () => {
    expect(placeholders('{{a}} {{ b }} {{a}} {c} {{}} {{#if x}} {{\n}} {{{d}}}')).toEqual([
      'a',
      'b',
      '',
      '#if x',
      'd',
    ]);
  });
});
