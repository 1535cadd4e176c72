import { expect, test } from 'vitest';
import { durationMs } from './subagent-file.ts';

test.each([
  ['5m', 300_000],
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1500],
  ['250ms', 250],
  ['60', 60_000],
  [60, 60_000],
  ['600h', null],
  ['0s', null],
  ['-5m', null],
  ['5 m', null],
  ['5d', null],
  ['', null],
])('%j is %j ms', (text, ms) => expect(durationMs(text)).toBe(ms));
