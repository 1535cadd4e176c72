import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fromHub } from './from-hub.ts';
import { distrustHub, whoAnswers } from './hub-proof.ts';
import { token } from './token.ts';

const HOST = 'squad-0.localhost:3001';
let answering: string | null;

beforeEach(() => {
  distrustHub();
  token.value = 'id.secret';
  vi.stubGlobal('location', { host: HOST });
  vi.stubGlobal('fetch', async (path: string) => {
    if (answering === null) throw new TypeError('refused');
    const nonce = new URL(path, `http://${HOST}`).searchParams.get('nonce');
    return Response.json({
      proof: createHmac('sha256', answering).update(`${nonce} ${HOST}`).digest('hex'),
    });
  });
});
afterEach(() => vi.unstubAllGlobals());

test('code is not taken from a stranger; it is from the hub that comes back', async () => {
  answering = 'other';
  const load = vi.fn(async () => 'code');
  const loaded = fromHub(load);
  expect(await whoAnswers('id.secret')).toBe('stranger');
  expect(load).not.toHaveBeenCalled();
  answering = 'id.secret';
  await whoAnswers('id.secret');
  expect(await loaded).toBe('code');
});

test('an answer that a stopping hub did not give is requested once more', async () => {
  answering = 'id.secret';
  const load = vi.fn(async () => 'code');
  load.mockImplementationOnce(async () => {
    answering = null;
    throw new TypeError('Failed to fetch');
  });
  const loaded = fromHub(load);
  await expect.poll(() => answering === null).toBe(true);
  expect(await whoAnswers('id.secret')).toBe('nobody');
  expect(load).toHaveBeenCalledTimes(1);
  answering = 'id.secret';
  await whoAnswers('id.secret');
  expect(await loaded).toBe('code');
});

test('without a token code is loaded without a proof of the hub', async () => {
  token.value = null;
  answering = 'other';
  expect(await fromHub(async () => 'code')).toBe('code');
});
