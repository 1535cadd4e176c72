import { describe, expect, it } from 'vitest';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { looksSame } from './shown-cards.ts';

const usage = { input: 1, output: 2, cached: null, costUsd: 0.1, costIsEstimated: false };
const CARD = {
  ...{ id: 'run_a', title: 'Task', roleId: 'coder', status: 'running', need: 'running', isStopping: false },
  ...{ turn: 1, branch: null, startedAt: 1, endedAt: null, quiet: null, usage, activity: null },
} as unknown as RunCard;
const isSame = (more: object) => looksSame(CARD, { ...structuredClone(CARD), ...more } as RunCard);

describe('looksSame', () => {
  it('does not mind what an agent says meanwhile', () => {
    expect(isSame({ activity: { text: 'reading', at: 5 } })).toBe(true);
  });

  it.each([
    { status: 'completed' },
    { need: 'needs_you' },
    { isStopping: true },
    { turn: 2 },
    { endedAt: 9 },
    { quiet: { state: 'silent', since: 1, text: 'No sign' } },
    { usage: { ...usage, costUsd: 0.2 } },
    { usage: null },
    { branch: 'squad/a' },
  ])('sees %j', more => {
    expect(isSame(more)).toBe(false);
  });
});
