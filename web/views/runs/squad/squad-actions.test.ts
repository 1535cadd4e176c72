import { describe, expect, it } from 'vitest';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { squadActions } from './squad-actions.ts';

const of = (...cards: RunCard[]) => squadActions('squad_a', cards);

describe('squadActions', () => {
  it('cancels the runs that have not ended, children in other squads included', () => {
    const { cancel } = of(
      card('running'),
      card('queued', { squadId: 'squad_b', roleId: 'tester' }),
      card('completed'),
    );
    expect(cancel.why).toBeNull();
    expect(cancel.effect).toMatch(/^Stops 2 agents: coder, tester,/);
    expect(of(card('completed')).cancel.why).toBe('None of its runs is running.');
  });

  it('retries what did not complete, when all of it is over', () => {
    expect(of(card('error'), card('completed')).retry).toMatchObject({
      ...{ why: null, command: 'squad retry squad_a' },
    });
    expect(of(card('error'), card('running')).retry.why).toMatch(/^Still running/);
    expect(of(card('completed')).retry.why).toBe('Every run completed.');
    expect(of(card('error', { reviewOf: 'run_x' })).retry.why).toMatch(/reviewers/i);
  });

  it('merges only where there are branches', () => {
    expect(of(card('completed')).integrate.why).toMatch(/branch/);
    expect(of(card('completed', { branch: 'squad/a' })).integrate.why).toBeNull();
  });

  it('does not list a hundred names', () => {
    const many = Array.from({ length: 100 }, () => card('running'));
    expect(of(...many).cancel.effect).toContain('coder, coder, coder, coder and 96 more');
  });
});

function card(status: string, more: Record<string, unknown> = {}): RunCard {
  const endedAt = status === 'running' || status === 'queued' ? null : 1;
  const base = {
    status,
    endedAt,
    squadId: 'squad_a',
    roleId: 'coder',
    engine: 'scripted',
    branch: null,
    reviewOf: null,
  };
  return { ...base, ...more } as unknown as RunCard;
}
