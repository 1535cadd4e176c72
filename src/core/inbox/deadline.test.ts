import { expect, test } from 'vitest';
import { HubSettings } from '../../schema/config.ts';
import { deadlineOf } from './inbox.ts';

const MINUTE = 60_000;
const settings = HubSettings.parse({ 'inbox.timeout_minutes': 60 });
const minutes = (asked: number | undefined, turnEndsAt: number | null, usual = 60) =>
  deadlineOf({ minutes: asked }, { ...settings, 'inbox.timeout_minutes': usual }, turnEndsAt, 0) / MINUTE;

test.each([
  ['as long as is usual', undefined, null, 60],
  ['as long as it asks for', 5, null, 5],
  ['longer than is usual, if it asks', 120, null, 120],
  ['a minute less than its turn has', undefined, 30 * MINUTE, 29],
  ['half of what a turn has that is nearly over', undefined, 1 * MINUTE, 0.5],
  ['not at all once its turn is over', undefined, -MINUTE, 0],
])('a question is open %s', (_, asked, turnEndsAt, open) => {
  expect(minutes(asked, turnEndsAt)).toBe(open);
});

test('a question is not open at all where nobody can answer it, whatever its deadline', () => {
  expect(minutes(30, null, 0)).toBe(0);
});
