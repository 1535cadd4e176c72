import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Lifetime } from './lifetime.ts';

let state: { runs: number; calls: number };
let ends: string[];
let lifetime: Lifetime;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  state = { runs: 0, calls: 0 };
  ends = [];
  lifetime = new Lifetime({
    lingerMs: 1000,
    isBusy: () => state.runs > 0,
    callsInFlight: () => state.calls,
    end: reason => void ends.push(reason),
  });
});
afterEach(() => vi.useRealTimers());

test('a hub that nobody ever came to goes after the linger', () => {
  vi.advanceTimersByTime(999);
  expect(ends).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ends).toEqual(['idle']);
});

test('a client, a run or a call keeps it; the linger begins anew when the last of them has gone', () => {
  const changes = [
    () => lifetime.onClients(1),
    () => Object.assign(state, { runs: 1 }),
    () => Object.assign(state, { calls: 1 }),
    () => lifetime.onClients(0),
    () => Object.assign(state, { runs: 0 }),
  ];
  for (const change of changes) {
    change();
    lifetime.review();
    vi.advanceTimersByTime(5000);
    expect(ends).toEqual([]);
  }
  state.calls = 0;
  lifetime.review();
  vi.advanceTimersByTime(999);
  expect(ends).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ends).toEqual(['idle']);
});

test('the hub stays when the client it would make way for has gone', () => {
  state.calls = 1;
  lifetime.makeWay();
  lifetime.stay();
  state.calls = 0;
  lifetime.onClients(1);
  vi.advanceTimersByTime(5000);
  expect(ends).toEqual([]);
});

test('the hub makes way as soon as no call is in flight, whatever clients and runs there are', () => {
  lifetime.onClients(3);
  state.runs = 2;
  state.calls = 1;
  lifetime.makeWay();
  vi.advanceTimersByTime(5000);
  expect(ends).toEqual([]);
  state.calls = 0;
  lifetime.review();
  vi.advanceTimersByTime(0);
  expect(ends).toEqual(['a newer version takes over']);
});

test('the hub does not make way between two calls of one chunk', () => {
  state.calls = 1;
  lifetime.makeWay();
  state.calls = 0;
  lifetime.review();
  expect(ends).toEqual([]);
  state.calls = 1;
  lifetime.review();
  vi.advanceTimersByTime(5000);
  expect(ends).toEqual([]);
});
