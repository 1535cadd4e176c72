import { describe, expect, test } from 'vitest';
import type { StopReason } from '../../schema/run.ts';
import type { TurnEnd } from '../ports/turns.ts';
import { type Facts, HARD_LIMIT_GRACE_MS, judge, stopInForce } from './outcome.ts';

const DEADLINE = 1_000_000;
const exit = (exitCode: number | null, more: Partial<TurnEnd> = {}): TurnEnd => ({
  exitCode,
  spawnError: null,
  leftovers: [],
  endedAt: DEADLINE - 1,
  ...more,
});
const facts = (end: TurnEnd, more: Partial<Facts> = {}): Facts => ({
  end,
  stop: null,
  deadlineAt: DEADLINE,
  timeoutMs: 25_000,
  events: null,
  wasIdle: false,
  ...more,
});
const said = (ok: boolean, error: string | null = null) => ({
  events: { end: { type: 'end' as const, ok, answer: '', error }, retry: null, linesDropped: 0 },
});

describe('an engine whose output is opaque', () => {
  test('completes with exit code 0 and fails with any other', { tags: ['A8'] }, () => {
    expect(judge(facts(exit(0)))).toEqual({ step: 'complete', error: null });
    expect(judge(facts(exit(3)))).toEqual({
      step: 'fail',
      error: { code: 'ENGINE_FAILED', message: 'exit code 3' },
    });
    expect(judge(facts(exit(139))).error?.message).toBe('killed by signal 11');
  });
});

describe('an engine that reports its own end', () => {
  test('completes only when that report says so', { tags: ['A8'] }, () => {
    expect(judge(facts(exit(0), said(true))).step).toBe('complete');
    expect(judge(facts(exit(0), said(false, 'quota'))).error).toEqual({
      code: 'ENGINE_FAILED',
      message: 'quota',
    });
  });

  test('has failed when it ended without a report, whatever its exit code', () => {
    const unsaid = (linesDropped: number, code = 0) =>
      judge(facts(exit(code), { events: { end: null, retry: null, linesDropped } }));
    expect(unsaid(0).step).toBe('fail');
    expect(unsaid(0).error?.message).toContain('ended without reporting a result');
    expect(unsaid(1)).toMatchObject({ step: 'fail', error: { code: 'OUTPUT_LIMIT' } });
    expect(unsaid(1, 1)).toMatchObject({ step: 'fail', error: { code: 'ENGINE_FAILED' } });
  });
});

describe('actions of Squad outrank the claims of the agent', () => {
  test.each([
    ['cancel', 'cancel'],
    ['timeout', 'time_out'],
    ['output_limit', 'fail'],
  ] as const)('stopped for %s: %s, even after a report of success', (stop, step) => {
    expect(judge(facts(exit(0), { stop, ...said(true) })).step).toBe(step);
  });

  test('the wrapper ended it after the deadline while no hub was there: it timed out', {
    tags: ['A8'],
  }, () => {
    const endedAt = DEADLINE + HARD_LIMIT_GRACE_MS;
    // It sends TERM first, and most agents end of that.
    for (const code of [143, 137, 1]) expect(judge(facts(exit(code, { endedAt }))).step).toBe('time_out');
    expect(judge(facts(exit(0, { endedAt }))).step).toBe('complete');
    expect(judge(facts(exit(137))).step).toBe('fail');
  });
});

describe('the API failed and the engine was waiting to ask it again', () => {
  const waiting = (waitMs: number | null) => ({
    end: null,
    retry: { code: 'ENGINE_RATE_LIMITED' as const, text: "The model's API failed with 429", waitMs },
    linesDropped: 0,
  });

  test('a timeout says so, and that the wait is longer than the timeout', { tags: ['A10'] }, () => {
    const judged = judge(facts(exit(143), { stop: 'timeout', events: waiting(3_600_000) }));
    expect(judged).toEqual({
      step: 'time_out',
      error: {
        code: 'ENGINE_RATE_LIMITED',
        message:
          "Timed out after 25 s. The last thing its engine reported: The model's API failed with 429. The wait of 3600 s is longer than the timeout.",
      },
    });
    for (const waitMs of [null, 25_000])
      expect(
        judge(facts(exit(143), { stop: 'timeout', events: waiting(waitMs) })).error?.message,
      ).not.toContain('longer');
  });

  test('so does the timeout of the wrapper, and a stall', () => {
    const endedAt = DEADLINE + HARD_LIMIT_GRACE_MS;
    expect(judge(facts(exit(143, { endedAt }), { events: waiting(null) })).error?.code).toBe(
      'ENGINE_RATE_LIMITED',
    );
    const stalled = judge(facts(exit(143), { stop: 'stall', events: waiting(null) })).error;
    expect(stalled).toMatchObject({ code: 'STALLED', message: expect.stringContaining('failed with 429') });
  });

  test('a cancelled run is cancelled, and nothing more', () => {
    expect(judge(facts(exit(143), { stop: 'cancel', events: waiting(null) })).error).toBeNull();
  });
});

describe('a stop request', () => {
  const end = exit(0, { endedAt: DEADLINE });

  test('is in force when it came before the end, or when nobody saw the end', () => {
    expect(stopInForce('cancel', DEADLINE - 1, end, null)).toBe('cancel');
    expect(stopInForce('timeout', DEADLINE + 5_000, exit(null, { endedAt: DEADLINE }), null)).toBe('timeout');
    expect(stopInForce(null, null, end, null)).toBeNull();
  });

  test('that came after the agent had ended by itself changed nothing', () => {
    expect(stopInForce('timeout', DEADLINE + 50, end, null)).toBeNull();
    expect(stopInForce('cancel', DEADLINE + 50, end, null)).toBeNull();
  });

  test('for a budget changed nothing when the agent reported success, and is in force otherwise', () => {
    const ended = (ok: boolean) => ({ type: 'end' as const, ok, answer: '', error: null });
    const killed = exit(143, { endedAt: DEADLINE });
    expect(stopInForce('budget', DEADLINE - 1, killed, ended(true))).toBeNull();
    expect(stopInForce('budget', DEADLINE - 1, killed, ended(false))).toBe('budget');
    expect(stopInForce('budget', DEADLINE - 1, killed, null)).toBe('budget');
    expect(stopInForce('cancel', DEADLINE - 1, killed, ended(true))).toBe('cancel');
  });

  test('for its time changed nothing when the agent had finished and waited for the hub', () => {
    const killed = exit(143, { endedAt: DEADLINE });
    const stopped = (stop: StopReason, ok: boolean, wasIdle: boolean) =>
      stopInForce(stop, DEADLINE - 1, killed, { type: 'end', ok, answer: '', error: null }, wasIdle);
    expect(stopped('timeout', true, true)).toBeNull();
    expect(stopped('stall', true, true)).toBeNull();
    expect(stopped('timeout', true, false)).toBe('timeout');
    expect(stopped('timeout', false, true)).toBe('timeout');
    expect(stopped('cancel', true, true)).toBe('cancel');
  });

  test('is in force when it came so close to the end that the clocks cannot tell', () => {
    expect(stopInForce('cancel', DEADLINE + 3, exit(143, { endedAt: DEADLINE }), null)).toBe('cancel');
  });
});

describe('no exit was seen', () => {
  test("a program that could not be started is a spawn failure with the shell's message", () => {
    expect(judge(facts(exit(127, { spawnError: 'x: not found' }))).error).toEqual({
      code: 'SPAWN_FAILED',
      message: 'The agent could not be started: x: not found',
    });
  });

  test('a process gone without a trace is lost, not failed and not done', () => {
    expect(judge(facts(exit(null)))).toMatchObject({ step: 'lose', error: { code: 'LOST' } });
  });
});
