import { expect, test } from 'vitest';
import { bearerOf, hashOf, mintToken } from './token.ts';

test('a token is 256 bits, another each time, and known by its hash alone', () => {
  const minted = Array.from({ length: 100 }, mintToken);
  expect(new Set(minted.map(({ token }) => token)).size).toBe(100);
  for (const { token, hash } of minted) {
    expect(Buffer.from(token, 'base64url').length).toBe(32);
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(hash).toBe(hashOf(token));
    expect(hash).not.toContain(token);
  }
});

test('a token belongs to the run that has its hash, and to none without one', () => {
  const [one, other] = [mintToken(), mintToken()];
  const runs = [
    { id: 'queued', tokenHash: null },
    { id: 'one', tokenHash: one.hash },
    { id: 'other', tokenHash: other.hash },
  ];
  expect(bearerOf(runs, one.token)?.id).toBe('one');
  expect(bearerOf(runs, other.token)?.id).toBe('other');
  for (const wrong of ['', 'x', one.hash, `${one.token}x`, one.token.slice(1), mintToken().token])
    expect(bearerOf(runs, wrong)).toBeNull();
});
