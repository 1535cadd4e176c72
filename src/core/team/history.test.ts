import { describe, expect, it } from 'vitest';
import { readHistory } from './history.ts';
import { randomOf, weave } from './testing/random-text.ts';

describe("an agent's history", () => {
  it('is its sections of level three, and elsewhere each item and paragraph, in order', {
    tags: ['B11'],
  }, () => {
    const text = `# Guide

> Steers.

## Learnings

- First, 2026-02-01
  goes on
- Second

### The loader (2026-03-22)
It is lazy.

#### Why
Speed.

## 2026-04-01: A day

All of it.

## Notes

One
paragraph.

Another.
`;
    expect(readHistory(text)).toEqual([
      { title: 'Guide', date: null, text: '> Steers.' },
      { title: 'Learnings', date: '2026-02-01', text: '- First, 2026-02-01\n  goes on' },
      { title: 'Learnings', date: null, text: '- Second' },
      { title: 'The loader (2026-03-22)', date: '2026-03-22', text: 'It is lazy.\n\n#### Why\nSpeed.' },
      { title: '2026-04-01: A day', date: '2026-04-01', text: 'All of it.' },
      { title: 'Notes', date: null, text: 'One\nparagraph.' },
      { title: 'Notes', date: null, text: 'Another.' },
    ]);
  });

  it('throws at nothing, and keeps every word', () => {
    const random = randomOf(7);
    for (let round = 0; round < 300; round++) expect(() => readHistory(weave(random))).not.toThrow();
    const words = Array.from({ length: 60 }, (_, at) => `w${at}`);
    const shapes = ['- W\n', 'W\n', '\nW\n', '### W\n', '## W\n\nx\n', '  W\n', '1. W\n', '> W\n'];
    for (let round = 0; round < 100; round++) {
      const text = words.map(word => shapes[random(shapes.length)]!.replace('W', word)).join('');
      const kept = readHistory(text)
        .map(entry => `${entry.title}\n${entry.text}`)
        .join('\n');
      // A group's own heading is only told with what stands under it.
      for (const word of words)
        if (!new RegExp(`^## ${word}$`, 'm').test(text)) expect(kept).toMatch(new RegExp(`\\b${word}\\b`));
    }
  });
});
