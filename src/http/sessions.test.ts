import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SESSION_IDLE_MS, Sessions } from './sessions.ts';

const HOST = 'squad-0.localhost:3001';
let sessions: Sessions;

beforeEach(() => {
  vi.useFakeTimers();
  sessions = new Sessions();
});
afterEach(() => void vi.useRealTimers());

test('a token opens its session at the host it was made for, and nowhere else', { tags: ['S2'] }, () => {
  const { token } = sessions.open(HOST);
  expect(sessions.admit(token, HOST)).toBe(token.split('.')[0]);
  for (const host of ['127.0.0.1:3001', 'squad-1.localhost:3001', 'squad-0.localhost:3002'])
    expect(sessions.admit(token, host)).toBeNull();
  const [id] = token.split('.');
  for (const wrong of [`${token}x`, `${id}.`, id!, `${id}.${'x'.repeat(43)}`, '', '.'])
    expect(sessions.admit(wrong, HOST)).toBeNull();
});

test('another hub knows nothing of it', { tags: ['S2'] }, () => {
  const { token } = sessions.open(HOST);
  const next = new Sessions();
  expect(next.admit(token, HOST)).toBeNull();
  expect(next.proof(token.split('.')[0]!, 'nonce', HOST)).toBeNull();
});

test('a session ends when it is not used for an hour', { tags: ['S2'] }, () => {
  const { token } = sessions.open(HOST);
  vi.advanceTimersByTime(SESSION_IDLE_MS - 1);
  expect(sessions.admit(token, HOST)).not.toBeNull();
  vi.advanceTimersByTime(SESSION_IDLE_MS - 1);
  expect(sessions.admit(token, HOST)).not.toBeNull();
  vi.advanceTimersByTime(SESSION_IDLE_MS);
  expect(sessions.admit(token, HOST)).toBeNull();
  expect(sessions.size).toBe(0);
});

test('an open tab keeps it, the last one that is closed starts the hour', () => {
  const { token } = sessions.open(HOST);
  const id = token.split('.')[0]!;
  const [first, second] = [sessions.hold(id), sessions.hold(id)];
  first();
  vi.advanceTimersByTime(10 * SESSION_IDLE_MS);
  expect(sessions.admit(token, HOST)).toBe(id);
  second();
  vi.advanceTimersByTime(SESSION_IDLE_MS);
  expect(sessions.admit(token, HOST)).toBeNull();
  // A tab of a session that is over holds nothing.
  sessions.hold(id)();
  expect(sessions.size).toBe(0);
});

test('the first session of a host is known as such: what a browser holds there before is not ours', () => {
  expect([sessions.open(HOST).isFirst, sessions.open(HOST).isFirst]).toEqual([true, false]);
  expect(sessions.open('127.0.0.1:3001').isFirst).toBe(true);
});

test('a proof takes the token to make, and names the host', { tags: ['S2'] }, () => {
  const { token } = sessions.open(HOST);
  const id = token.split('.')[0]!;
  const expected = createHmac('sha256', token).update(`nonce ${HOST}`).digest('hex');
  expect(sessions.proof(id, 'nonce', HOST)).toBe(expected);
  expect(sessions.proof(id, 'nonce', '127.0.0.1:3001')).toBeNull();
  expect(sessions.proof('other', 'nonce', HOST)).toBeNull();
});

test('only so many are kept, the newest', () => {
  const tokens = Array.from({ length: 150 }, () => sessions.open(HOST).token);
  expect(tokens.map(token => sessions.admit(token, HOST) !== null).lastIndexOf(false)).toBe(49);
  expect(sessions.size).toBe(100);
});
