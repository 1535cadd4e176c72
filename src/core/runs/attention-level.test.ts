import { describe, expect, it } from 'vitest';
import { RunStatus } from '../../schema/run.ts';
import { attentionLevel } from './board.ts';

const NOW = 1_700_000_000_000;
const DAY_MS = 24 * 60 * 60_000;
const need = (
  status: RunStatus,
  some: { ago?: number; asksUser?: boolean; isTakenUp?: boolean; isUndecided?: boolean } = {},
) => {
  const { ago = 1, asksUser = false, isTakenUp = false, isUndecided = false } = some;
  return attentionLevel({ status, endedAt: NOW - ago }, { asksUser, isTakenUp, isUndecided, now: NOW });
};

describe('what a run needs from the user', () => {
  it('follows from its status', () => {
    expect(Object.fromEntries(RunStatus.options.map(status => [status, need(status)]))).toEqual({
      queued: 'queued',
      running: 'running',
      waiting_review: 'running',
      waiting_children: 'running',
      waiting_limit: 'running',
      error: 'failed',
      timeout: 'failed',
      lost: 'failed',
      completed: 'done',
      cancelled: 'done',
      terminated: 'done',
      abandoned: 'done',
    });
  });

  it('is an answer first, whether it is queued, running or in review', () => {
    for (const status of ['queued', 'running', 'waiting_review'] as const)
      expect(need(status, { asksUser: true })).toBe('needs_you');
    expect(need('error', { asksUser: true })).toBe('failed');
  });

  it('is a decision when it completed at the limit of its reviews', () => {
    expect(need('completed', { isUndecided: true })).toBe('needs_you');
  });

  it('is nothing any more when it failed more than a day ago, to the millisecond', () => {
    expect(need('error', { ago: DAY_MS })).toBe('failed');
    expect(need('error', { ago: DAY_MS + 1 })).toBe('done');
  });

  it('is nothing any more when its task was taken up again', () => {
    expect(need('timeout', { isTakenUp: true })).toBe('done');
  });
});
