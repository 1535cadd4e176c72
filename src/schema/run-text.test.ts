import { describe, expect, it } from 'vitest';
import type { EventBody } from './event.ts';
import { describeEvent } from './run-text.ts';

const words = (body: object) =>
  describeEvent(body as EventBody, {
    duration: ms => `${ms / 1000} seconds`,
    money: usd => `${usd} dollars`,
  });

describe('describeEvent', () => {
  it('says what matters of an event, with figures as whoever shows it writes them', () => {
    const error = { code: 'ENGINE_FAILED', message: 'broke' };
    const ended = { type: 'run.ended', usage: null, leftovers: [], durationMs: 2000 };
    expect(words({ ...ended, status: 'error', exitCode: 1, error })).toBe(
      'error, exit code 1 · 2 seconds · ENGINE_FAILED: broke',
    );
    expect(words({ ...ended, status: 'lost', exitCode: null, error: null, durationMs: null })).toBe('lost');
    expect(words({ type: 'run.budget', spentUsd: 1, budgetUsd: 2, scope: 'run' })).toBe(
      '1 dollars of 2 dollars for the run',
    );
    expect(words({ type: 'setting.changed', key: 'limits.depth', value: null })).toBe(
      'limits.depth = default',
    );
  });

  it('says of what is settled what was asked and what was answered, each on one line', () => {
    const item = { id: 'ask_1', kind: 'question', question: 'Disk,\nor Redis?', state: 'open', answer: null };
    expect(words({ type: 'inbox.asked', item })).toBe('ask_1 question: Disk, or Redis?');
    expect(words({ type: 'inbox.settled', item: { ...item, state: 'answered', answer: 'disk' } })).toBe(
      'ask_1 answered with "disk": Disk, or Redis?',
    );
    expect(words({ type: 'inbox.settled', item: { ...item, state: 'withdrawn' } })).toBe(
      'ask_1 withdrawn: Disk, or Redis?',
    );
  });

  it('says of a call that went wrong why, as far as that is known', () => {
    const called = { type: 'tool.called', tool: 'cancel_run', client: 'page', durationMs: 1 };
    expect(words({ ...called, ok: true, code: null })).toBe('cancel_run by the web UI');
    expect(words({ ...called, ok: false, code: 'RUN_UNKNOWN', count: 3 })).toBe(
      'cancel_run by the web UI: RUN_UNKNOWN ×3',
    );
    expect(words({ ...called, ok: false, code: null })).toBe('cancel_run by the web UI: failed');
  });

  it('has no words for what a newer build tells', () => {
    expect(words({ type: 'something.new' })).toBe('');
  });
});
