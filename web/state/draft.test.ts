import { expect, test } from 'vitest';
import { saveDraft, savedDraft } from './draft.ts';

test('each thing has its own words, and none leave nothing', () => {
  const values = new Map<string, string>();
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
  saveDraft('answer:1', 'half', storage);
  saveDraft('start', 'a task', storage);
  expect([savedDraft('answer:1', storage), savedDraft('start', storage)]).toEqual(['half', 'a task']);
  expect(savedDraft('answer:2', storage)).toBeNull();
  saveDraft('answer:1', '', storage);
  expect(savedDraft('answer:1', storage)).toBeNull();
  expect(values.size).toBe(1);
});
