import { expect, test } from 'vitest';
import { type LineComment, loadComments, saveComments, withComment } from './saved-comments.ts';

const comment = (more: Partial<LineComment> = {}): LineComment => ({
  ...{ path: 'a.ts', line: 3, side: 'new', quote: 'x', text: 'why?' },
  ...more,
});

test('there is one for each line and side, and no words take it away', () => {
  const two = withComment(withComment([], comment()), comment({ side: 'old' }));
  expect(two).toHaveLength(2);
  const changed = withComment(two, comment({ text: ' because ' }));
  expect(changed.map(({ side, text }) => [side, text])).toEqual([
    ['old', 'why?'],
    ['new', 'because'],
  ]);
  expect(withComment(changed, comment({ text: ' ' }))).toHaveLength(1);
});

test('they are kept for one run, and what is not one is left out', () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  saveComments('run_a', [comment()], storage);
  expect(loadComments('run_a', storage)).toEqual([comment()]);
  expect(loadComments('run_b', storage)).toEqual([]);
  kept.set('squad-comments:run_b', '[{"path":1},{}]');
  kept.set('squad-comments:run_c', '{');
  expect([loadComments('run_b', storage), loadComments('run_c', storage)]).toEqual([[], []]);
  saveComments('run_a', [], storage);
  expect(kept.has('squad-comments:run_a')).toBe(false);
});
