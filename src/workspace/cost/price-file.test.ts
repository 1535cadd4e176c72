import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SHIPPED_PRICES } from '../../core/cost/prices.ts';
import { createPrices } from './price-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'squad-prices-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("the user's own prices override the shipped ones as soon as the file exists, and a broken file is reported", () => {
  const file = join(folder, 'prices.json');
  const warnings: string[] = [];
  const prices = createPrices(file, message => warnings.push(message));
  expect(prices()).toEqual(SHIPPED_PRICES);
  const mine = { input: 1, cached: 0, output: 2 };
  writeFileSync(file, JSON.stringify({ 'gpt-5': mine }));
  expect(prices()).toEqual({ ...SHIPPED_PRICES, 'gpt-5': mine });
  writeFileSync(file, '{"gpt-5": {"input": -1}}');
  utimesSync(file, 1, 1);
  expect(prices()).toEqual(SHIPPED_PRICES);
  expect(prices()).toEqual(SHIPPED_PRICES);
  expect(warnings).toEqual([expect.stringContaining('prices.json is invalid')]);
});
