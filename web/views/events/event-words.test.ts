import { describe, expect, it } from 'vitest';
import type { Event } from '../../../src/schema/event.ts';
import { eventWords } from './event-words.ts';

describe('eventWords', () => {
  it('says what matters of an event', () => {
    const error = { code: 'X', message: 'broke' };
    const ended = {
      type: 'run.ended',
      status: 'error',
      exitCode: 1,
      error,
      usage: null,
      leftovers: [],
      durationMs: 1,
    };
    expect(eventWords(eventOf(1, ended as Event['body']))).toBe('error: broke');
    expect(eventWords(eventOf(1, { type: 'setting.changed', key: 'limits.depth', value: null }))).toBe(
      'limits.depth = default',
    );
  });

  it('has no words for what it does not know', () => {
    expect(eventWords(eventOf(1, { type: 'something.new' } as unknown as Event['body']))).toBe('');
  });
});

const eventOf = (seq: number, body: Event['body']): Event =>
  ({ seq, at: 1, runId: 'run_a', squadId: 'squad_a', body }) as unknown as Event;
