import { describe, expect, it } from 'vitest';
import { newRunId } from '../../schema/ids.ts';
import { figuresOf, sumsOf } from './usage.ts';

const RUN: Parameters<typeof sumsOf>[0] = {
  id: newRunId(),
  roleId: null,
  engine: 'scripted',
  workspace: '/project',
  model: null,
  options: { subagent: null },
  status: 'completed',
  usage: null,
  startedAt: null,
  endedAt: null,
};
const usage = (input: number | null, costUsd: number | null) => ({
  ...{ input, output: null, cached: null, costUsd, costIsEstimated: false },
});

describe('figures of runs', () => {
  it('are null, not 0, where nothing was reported', () => {
    expect(figuresOf([RUN, { ...RUN, status: 'queued' as const }].map(sumsOf), 0)).toMatchObject({
      ...{ runs: 2, completed: 1, queued: 1, running: 0, failed: 0 },
      ...{ input_tokens: null, output_tokens: null, cost_usd: null, duration_seconds: null, unreported: 1 },
    });
    expect(figuresOf([], 0)).toMatchObject({ runs: 0, cost_usd: null });
  });

  it('sum what was reported, and count the runs that did not', () => {
    const runs: (typeof RUN)[] = [
      { ...RUN, usage: usage(10, 0.1), startedAt: 1_000, endedAt: 3_000 },
      { ...RUN, status: 'timeout', usage: usage(null, 0.2), startedAt: 0, endedAt: 500 },
      { ...RUN, status: 'running', startedAt: 4_000 },
      { ...RUN, status: 'lost' },
      { ...RUN, status: 'terminated', usage: usage(null, null) },
      { ...RUN, status: 'cancelled', usage: usage(null, null) },
    ];
    expect(figuresOf(runs.map(sumsOf), 5_000)).toMatchObject({
      ...{ runs: 6, completed: 1, failed: 2, stopped: 2, running: 1, queued: 0 },
      ...{ input_tokens: 10, output_tokens: null, cost_usd: 0.3, duration_seconds: 3.5, unreported: 1 },
    });
  });
});
