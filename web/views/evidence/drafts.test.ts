import { expect, test } from 'vitest';
import { loadDrafts, saveDraft } from './saved-comments.ts';

function storage() {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
}

const one = { path: 'a.ts', line: 1, side: 'new' as const };
const other = { path: 'a.ts', line: 1, side: 'old' as const };

test('each line has its own words, those typed last come last, and none leave nothing', () => {
  const kept = storage();
  saveDraft('run_1', one, 'ha', kept);
  saveDraft('run_1', other, 'left', kept);
  saveDraft('run_1', one, 'half', kept);
  expect(loadDrafts('run_1', kept)).toEqual([
    { ...other, text: 'left' },
    { ...one, text: 'half' },
  ]);
  expect(loadDrafts('run_2', kept)).toEqual([]);
  saveDraft('run_1', one, '', kept);
  saveDraft('run_1', other, '', kept);
  expect(kept.values.size).toBe(0);
});

test.each(['{', '5', '[null, 3, {"path": "a"}]'])('a foreign value is not taken for a draft: %s', text => {
  const kept = storage();
  kept.values.set('squad-drafts:run_1', text);
  expect(loadDrafts('run_1', kept)).toEqual([]);
});
