import { describe, expect, test } from 'vitest';
import type { EngineEvent } from '../core/ports/engine.ts';
import { claudeReader } from './claude/claude-reader.ts';
import { codexReader } from './codex/codex-reader.ts';
import { limitReset, readingResets } from './limit-reset.ts';

test.each([
  // Claude Code
  ['Claude AI usage limit reached|1758598800', { at: 1_758_598_800_000 }],
  ["You've hit your limit · resets 2pm (Asia/Shanghai)", { hour: 14, minute: 0, zone: 'Asia/Shanghai' }],
  [
    "You've hit your session limit · resets 8:20pm (Asia/Singapore)",
    { hour: 20, minute: 20, zone: 'Asia/Singapore' },
  ],
  ['resets Oct 7, 10am (UTC)', { date: { month: 10, day: 7 }, hour: 10, minute: 0, zone: 'UTC' }],
  // Codex
  ['To get more access now, try again at 12:16 PM.', { hour: 12, minute: 16, zone: null }],
  ['try again at 12:05 AM.', { hour: 0, minute: 5, zone: null }],
  [
    'or try again at Aug 8th, 2026 12:30 PM.',
    { date: { year: 2026, month: 8, day: 8 }, hour: 12, minute: 30, zone: null },
  ],
  ['or try again in 2 days 17 hours 14 minutes.', { afterMs: ((2 * 24 + 17) * 60 + 14) * 60_000 }],
  [
    '{"error":{"type":"usage_limit_reached","resets_at":1777936568,"resets_in_seconds":1}}',
    { at: 1_777_936_568_000 },
  ],
  ['{"error":{"type":"usage_limit_reached","resets_in_seconds":90}}', { afterMs: 90_000 }],
  // Gemini, OpenAI and others
  ['Your quota will reset after 13h24m5s.', { afterMs: (13 * 3600 + 24 * 60 + 5) * 1000 }],
  ['Please retry in 35.2s', { afterMs: 35_200 }],
  ['"retryDelay": "34s"', { afterMs: 34_000 }],
  ['Rate limit reached. Please try again in 120ms.', { afterMs: 120 }],
  ['answered 429: slow down (retry after 20 s)', { afterMs: 20_000 }],
  ['Retry-After: 30 seconds', { afterMs: 30_000 }],
  ['the limit resets at 2026-10-01T10:00:00Z', { at: Date.parse('2026-10-01T10:00:00Z') }],
  // No time
  ['You have hit your usage limit. Try again later.', null],
  ['exceeded retry limit, last status: 429 Too Many Requests', null],
  ['try again at 25:00', null],
  ['try again at 13pm', null],
  ['it resets 5 counters', null],
  ['', null],
])('%j', { tags: ['G5'] }, (message, reset) => expect(limitReset(message)).toEqual(reset));

test('a long message is read in no time', () => {
  for (const part of ['resets ', 'try again in 1 ', 'resets at 1', '2026-01-01T', 'retry after 1h '])
    expect(() => limitReset(part.repeat(200_000))).not.toThrow();
});

const lastOf = (events: EngineEvent[]) => events.at(-1);
const line = (fields: object) => JSON.stringify(fields);

describe('reports of', { tags: ['G5'] }, () => {
  const limit = (status: string, resetsAt?: number) =>
    line({ type: 'rate_limit_event', rate_limit_info: { status, resetsAt, rateLimitType: 'five_hour' } });
  const result = (fields: object) => line({ type: 'result', subtype: 'success', is_error: true, ...fields });

  test('Claude Code: the event of a refused request, not of an allowed one', () => {
    const message = { result: "You've hit your session limit · resets 2pm (UTC)", api_error_status: 429 };
    const read = (...lines: string[]) => {
      const reader = readingResets(claudeReader());
      return lastOf(lines.flatMap(each => reader.line(each)));
    };
    expect(read(limit('rejected', 1_778_565_600), result(message))).toMatchObject({
      ...{ ok: false, code: 'ENGINE_RATE_LIMITED', reset: { at: 1_778_565_600_000 } },
    });
    expect(read(limit('allowed', 1_778_565_600), result(message))).toMatchObject({
      reset: { hour: 14, minute: 0, zone: 'UTC' },
    });
    expect(read(limit('rejected', 1_778_565_600), result({ result: 'Not logged in' }))).not.toHaveProperty(
      'reset',
    );
  });

  test('Claude Code: a limit in the form of an answer', () => {
    const said = (text: string) =>
      lastOf(readingResets(claudeReader()).line(line({ type: 'result', is_error: false, result: text })));
    expect(said('Claude AI usage limit reached|1758598800')).toMatchObject({
      ...{ ok: false, code: 'ENGINE_RATE_LIMITED', reset: { at: 1_758_598_800_000 } },
    });
    expect(said('The text "Claude AI usage limit reached|1758598800" is in it.')).toMatchObject({ ok: true });
  });

  test('Codex: in words, and as an event of its server', () => {
    const failed = { message: "You've hit your usage limit. Try again later." };
    const exec = readingResets(codexReader());
    expect(
      lastOf(
        exec.line(
          line({ type: 'turn.failed', error: { message: `${failed.message} try again at 3:28 PM.` } }),
        ),
      ),
    ).toMatchObject({ code: 'ENGINE_RATE_LIMITED', reset: { hour: 15, minute: 28, zone: null } });

    const server = readingResets(codexReader());
    const window = (usedPercent: number, resetsAt: number) => ({ usedPercent, resetsAt });
    const rateLimits = { primary: window(100, 1_778_000_000), secondary: window(40, 1_779_000_000) };
    server.line(line({ method: 'account/rateLimits/updated', params: { rateLimits } }));
    const turn = { status: 'failed', error: { ...failed, codexErrorInfo: 'usageLimitExceeded' } };
    expect(
      lastOf(server.line(line({ method: 'turn/completed', params: { threadId: null, turn } }))),
    ).toMatchObject({ code: 'ENGINE_RATE_LIMITED', reset: { at: 1_778_000_000_000 } });
  });
});
