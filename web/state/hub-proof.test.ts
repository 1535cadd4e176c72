import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { distrustHub, hubAnswers, isProved, isStranger, proofOf, whoAnswers } from './hub-proof.ts';

const HOST = 'squad-0.localhost:3001';
let asked: string[];

/** Replaces the network: answers requests to the port of the web UI. */
function answers(answer: (nonce: string) => Response | Promise<Response>): void {
  vi.stubGlobal('fetch', async (path: string, { headers }: RequestInit) => {
    expect(headers).toBeUndefined();
    asked.push(path);
    return answer(new URL(path, `http://${HOST}`).searchParams.get('nonce')!);
  });
}
const proofBy = (token: string, host: string) => (nonce: string) =>
  Response.json({ proof: createHmac('sha256', token).update(`${nonce} ${host}`).digest('hex') });

beforeEach(() => {
  asked = [];
  distrustHub();
  vi.stubGlobal('location', { host: HOST });
});
afterEach(() => vi.unstubAllGlobals());

test('a proof is the one the hub makes', async () => {
  const expected = createHmac('sha256', 'id.secret').update(`nonce ${HOST}`).digest('hex');
  expect(await proofOf('id.secret', 'nonce', HOST)).toBe(expected);
});

test('a server that has the token is the hub; it is asked once until it is not trusted any more', async () => {
  answers(proofBy('id.secret', HOST));
  expect(await Promise.all([whoAnswers('id.secret'), whoAnswers('id.secret')])).toEqual(['hub', 'hub']);
  expect(await whoAnswers('id.secret')).toBe('hub');
  expect(asked).toHaveLength(1);
  distrustHub();
  expect(await whoAnswers('id.secret')).toBe('hub');
  expect(new Set(asked).size).toBe(2);
  expect(asked.join()).not.toContain('.secret');
});

test.each<[string, (nonce: string) => Response]>([
  ['has another token', proofBy('other', HOST)],
  ['had the hub answer for it at another port', proofBy('id.secret', 'squad-0.localhost:3002')],
  ['says nothing of it', () => Response.json({})],
  ['speaks of something else', () => new Response('<h1>Hello</h1>', { status: 404 })],
])('a server that %s is a stranger, and is asked again the next time', async (_what, answer) => {
  answers(answer);
  expect(await whoAnswers('id.secret')).toBe('stranger');
  expect(isStranger.value).toBe(true);
  answers(proofBy('id.secret', HOST));
  expect(await whoAnswers('id.secret')).toBe('hub');
  expect(isStranger.value).toBe(false);
});

test('the hub is proved until there is a reason for doubt', async () => {
  answers(proofBy('id.secret', HOST));
  expect(isProved.value).toBe(false);
  await whoAnswers('id.secret');
  expect(isProved.value).toBe(true);
  distrustHub();
  expect(isProved.value).toBe(false);
  answers(proofBy('other', HOST));
  await whoAnswers('id.secret');
  expect(isProved.value).toBe(false);
});

test('a hub that does not know the session says so', async () => {
  answers(() => Response.json({ error: { code: 'SESSION_OVER' } }, { status: 401 }));
  expect(await whoAnswers('id.secret')).toBe('over');
  expect([isProved.value, isStranger.value]).toEqual([false, false]);
});

test('an address without an answer is nobody', async () => {
  answers(() => Promise.reject(new TypeError('refused')));
  expect(await whoAnswers('id.secret')).toBe('nobody');
  expect(isStranger.value).toBe(false);
});

test('a view that waits for the hub continues when it answers, and not before', async () => {
  answers(proofBy('other', HOST));
  const order: string[] = [];
  const waited = hubAnswers('id.secret').then(() => order.push('went on'));
  expect(await whoAnswers('id.secret')).toBe('stranger');
  answers(proofBy('id.secret', HOST));
  distrustHub();
  order.push('the hub is back');
  await whoAnswers('id.secret');
  await waited;
  expect(order).toEqual(['the hub is back', 'went on']);
});
