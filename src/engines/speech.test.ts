import { describe, expect, it } from 'vitest';
import { Speech } from './speech.ts';

describe('words that come in pieces', () => {
  it('are shown by the line', () => {
    const speech = new Speech();
    expect(speech.add('one ')).toEqual([]);
    expect(speech.add('two\n')).toEqual([{ type: 'text', text: 'one two' }]);
    expect(speech.pause()).toEqual([]);
    expect(speech.end().answer).toBe('one two');
  });

  it('are shown in between when a line does not end', () => {
    const speech = new Speech();
    expect(speech.add('x'.repeat(399))).toEqual([]);
    expect(speech.add('x')).toHaveLength(1);
  });

  it('begin anew as an answer', () => {
    const speech = new Speech();
    speech.add('I will look.');
    expect(speech.restart()).toEqual([{ type: 'text', text: 'I will look.' }]);
    speech.add('Found it.');
    expect(speech.end().answer).toBe('Found it.');
  });

  it('do not fill the memory, and are no answer when they are too many', () => {
    const speech = new Speech();
    const piece = 'y'.repeat(1024 * 1024);
    for (let i = 0; i < 20; i++) speech.add(piece);
    expect(speech.end()).toMatchObject({ ok: false, code: 'OUTPUT_LIMIT' });
  });
});
