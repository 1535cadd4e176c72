import { describe, expect, it } from 'vitest';
import { outline, readMarkdown } from '../../base/markdown.ts';
import { currentIteration } from './context.ts';

const current = (...text: string[]) =>
  currentIteration(outline(readMarkdown(text.join('\n'))))
    .map(line => line.text)
    .filter(line => line !== '');

describe('the current iteration', () => {
  it('is the one the plan calls current, with all that is below it and the title', () => {
    expect(
      current(
        ...['# Plan', 'About the plan.', '## Current state', '- [ ] not this', '## Iteration 1', '- [ ] old'],
        ...[
          '## Iteration 2 (in progress)',
          'Payments.',
          '### Tasks',
          '- [x] cart',
          '- [ ] pay',
          '## Iteration 3',
          'x',
        ],
      ),
    ).toEqual([
      ...['# Plan', '## Iteration 2 (in progress)', 'Payments.', '### Tasks', '- [x] cart', '- [ ] pay'],
    ]);
  });

  it.each([
    '## Current iteration: 2',
    '## Phase 2 🚧',
    '## Sprint 2 - ongoing',
    '## In progress',
    '## Now',
    '## Milestone 2\n**Status:** In progress',
  ])('is marked by %j', heading => {
    expect(current('## Phase 1', '- [ ] old', heading, 'this', '## Phase 3', 'x')).toEqual([
      ...heading.split('\n'),
      'this',
    ]);
  });

  it('is else the first with work left', () => {
    expect(
      current(
        '# Plan',
        '## Notes',
        '- [ ] no',
        '## Phase 1',
        '- [x] a',
        '## Phase 2',
        '1. [ ] b',
        '## Phase 3',
        '- [ ] c',
      ),
    ).toEqual(['# Plan', '## Phase 2', '1. [ ] b']);
  });

  it('is not one that is done, whatever is left unchecked in it', () => {
    expect(
      current(
        '## Phase 1 ✅',
        '- [ ] a',
        '## Phase 2',
        'Status: completed',
        '- [ ] b',
        '## Phase 3: not done',
        '- [ ] c',
      ),
    ).toEqual(['## Phase 3: not done', '- [ ] c']);
  });

  it('is not known by a word that belongs to its name', () => {
    expect(
      current('## Phase 1: Complete the cart', '- [ ] a', '## Phase 2: Active Directory', '- [ ] b'),
    ).toEqual(['## Phase 1: Complete the cart', '- [ ] a']);
  });

  it('is found in plans that call their parts something else', () => {
    expect(current('# Plan', '## Cart', '- [x] a', '## Checkout', '- [ ] b')).toEqual([
      ...['# Plan', '## Checkout', '- [ ] b'],
    ]);
  });

  it('stands under the headings above it', () => {
    expect(current('# Plan', '## 2026', '### Sprint 1', '- [x] a', '### Sprint 2', '- [ ] b')).toEqual([
      ...['# Plan', '## 2026', '### Sprint 2', '- [ ] b'],
    ]);
  });

  it('is the first when nothing tells', () => {
    expect(current('# Plan', '## Why', 'x', '## Phase 1', 'a', '## Phase 2', 'b')).toEqual([
      ...['# Plan', '## Phase 1', 'a'],
    ]);
  });

  it('is the whole plan when it has no sections', () => {
    expect(current('# Plan', '- [ ] a', '- [ ] b')).toEqual(['# Plan', '- [ ] a', '- [ ] b']);
    expect(current('just', 'text')).toEqual(['just', 'text']);
  });

  it('does not take a box in code for work', () => {
    expect(current('## Phase 1', '```', '- [ ] a', '```', '## Phase 2', '- [ ] b')).toEqual([
      ...['## Phase 2', '- [ ] b'],
    ]);
  });
});
