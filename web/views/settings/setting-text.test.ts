import { describe, expect, it } from 'vitest';
import { HubSettings } from '../../../src/schema/config.ts';
import { describeSetting, formatValue } from './setting-text.ts';

describe('describeSetting', () => {
  it.each(Object.keys(HubSettings.shape))('says what %s does', key => {
    expect(describeSetting(key)).toMatch(/^[A-Z].+\.$/);
  });
});

describe('formatValue', () => {
  it('shows what is there, and none for no limit', () => {
    expect([null, 8, 'all', ['npm', 'test'], { a: 1 }].map(formatValue)).toEqual([
      ...['none', '8', 'all', '["npm","test"]', '{"a":1}'],
    ]);
  });
});
