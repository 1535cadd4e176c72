import { effect } from '@preact/signals';
import { expect, test, vi } from 'vitest';
import { sampleCard } from '../testing/sample-card.ts';
import { Cards } from './cards.ts';

test('an answer that was under way does not undo what the live line told', () => {
  const cards = new Cards();
  cards.tell([sampleCard({ id: 'a', status: 'completed' })]);
  cards.see([sampleCard({ id: 'a', status: 'running' })]);
  expect(cards.of('a').value?.status).toBe('completed');
});

test('after the line broke an answer is newer', () => {
  const cards = new Cards();
  cards.tell([sampleCard({ id: 'a', status: 'running' })]);
  cards.distrust();
  cards.see([sampleCard({ id: 'a', status: 'completed' })]);
  expect(cards.of('a').value?.status).toBe('completed');
});

test('the same card again draws nothing', () => {
  const cards = new Cards();
  let draws = 0;
  const stop = effect(() => {
    cards.of('a').value;
    draws++;
  });
  cards.tell([sampleCard({ id: 'a' })]);
  cards.tell([sampleCard({ id: 'a' })]);
  stop();
  expect(draws).toBe(2);
});

test('runs that no view shows are dropped, shown ones stay', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const cards = new Cards();
    const shown = cards.of('shown');
    const stop = effect(() => void shown.value);
    const early = cards.of('early');
    for (let number = 0; number < 3000; number++) cards.tell([sampleCard({ id: `run ${number}` })]);
    vi.runAllTimers();
    expect(cards.of('shown')).toBe(shown);
    expect(cards.of('early')).not.toBe(early);
    stop();
  } finally {
    vi.useRealTimers();
  }
});

test('a list may be longer than the number of unused cards that are kept', () => {
  const cards = new Cards();
  const many = Array.from({ length: 5000 }, (_, number) => sampleCard({ id: `run ${number}` }));
  cards.see(many);
  expect(many.filter(({ id }) => cards.of(id).peek() === undefined)).toEqual([]);
});
