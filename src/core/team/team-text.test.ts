import { describe, expect, it } from 'vitest';
import { type ActiveAgent, entryLine, type RecentRun, stateText } from './state-files.ts';

const run = {
  runId: 'run_a1',
  squadId: 'squad_b2',
  name: 'coder',
  engine: 'claude',
  model: 'sonnet',
  summary: 'Fix the cart',
};
const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const cost = { durationMs: 67_340, costUsd: 0.28 };

describe('entryLine', () => {
  it('tells of a start', () => {
    expect(entryLine({ ...run, kind: 'start', at })).toBe(
      '- 2026-01-02T03:04:05Z · start · run_a1 · squad_b2 · coder (claude, sonnet) · Fix the cart',
    );
  });

  it('tells of an end with what it took', () => {
    const end = {
      ...run,
      ...cost,
      kind: 'end',
      status: 'completed',
      at,
      tokens: { input: 1200, output: 34 },
      result: '## Report\n\nThe cart | is fixed. Two tests were added.',
    } as const;
    expect(entryLine(end)).toMatch(
      / · end · .* · completed · 67\.3 s · \$0\.2800 · tokens 1200 in, 34 out · Fix the cart → The cart \\\| is fixed\.$/,
    );
    expect(entryLine({ ...end, costIsEstimated: true })).toContain(' · $0.2800 (estimated) · ');
  });

  it('invents no figure', () => {
    const nothing = { result: '', durationMs: null, costUsd: null, tokens: { input: null, output: null } };
    expect(
      entryLine({
        ...run,
        ...nothing,
        kind: 'end',
        status: 'lost',
        at,
        name: null,
        model: null,
        summary: ' \n',
      }),
    ).toMatch(/ · claude · lost · time unknown · cost unknown · \(no summary\)$/);
  });

  it('is one line of bounded size, whatever the words in it', () => {
    const evil = `x\n- 2026 · end\n# Heading <!-- ${'|`'.repeat(5_000)}`;
    const line = entryLine({
      ...run,
      kind: 'start',
      at,
      summary: evil,
      name: evil,
      model: evil,
      engine: evil,
    });
    expect(line).not.toMatch(/[\n<]/);
    expect(line.replace(/\\[`|]/g, '')).not.toMatch(/[`|]/);
    expect(line.length).toBeLessThan(900);
  });
});

describe('stateText', () => {
  it('says when nothing happens', () => {
    expect(stateText({ at, active: [], recent: [] })).toBe(
      [
        ...['As of 2026-01-02T03:04:05Z.', '## Active agents (0)', 'No agent is running.'],
        ...['## Recent runs', 'No run has ended yet.'],
      ].join('\n\n'),
    );
  });

  it('has a row for each run', () => {
    const text = stateText({
      at,
      active: [{ ...run, status: 'running', since: at }],
      recent: [{ ...run, ...cost, summary: 'a | b', status: 'error', endedAt: at }],
    });
    expect(text.split('\n').filter(line => line.startsWith('|'))).toEqual([
      '| Run | Squad | Agent | Status | Since | Task |',
      '| --- | --- | --- | --- | --- | --- |',
      '| run_a1 | squad_b2 | coder (claude, sonnet) | running | 2026-01-02T03:04:05Z | Fix the cart |',
      '| Run | Squad | Agent | Status | Ended | Duration | Cost | Task |',
      '| --- | --- | --- | --- | --- | --- | --- | --- |',
      '| run_a1 | squad_b2 | coder (claude, sonnet) | error | 2026-01-02T03:04:05Z | 67.3 s | $0.2800 | a \\| b |',
    ]);
  });

  it('is bounded, and says how many it leaves out', () => {
    const active = Array.from({ length: 500 }, (): ActiveAgent => ({ ...run, status: 'queued', since: at }));
    const recent = Array.from(
      { length: 500 },
      (): RecentRun => ({ ...run, ...cost, status: 'error', endedAt: at }),
    );
    const text = stateText({ at, active, recent });
    expect(text).toContain('## Active agents (500)');
    expect(text).toContain('\n\nAnd 400 more.\n\n');
    expect(text.match(/^\| run/gm)).toHaveLength(125);
  });
});
