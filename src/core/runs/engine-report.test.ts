import { expect, test } from 'vitest';
import type { EngineEvent } from '../ports/engine.ts';
import { EngineReport } from './engine-report.ts';

const RETRY: EngineEvent = {
  type: 'note',
  text: 'failed',
  retry: { code: 'ENGINE_RATE_LIMITED', waitMs: 40_000 },
};

function reportOf(...events: EngineEvent[]): EngineReport {
  const report = new EngineReport({ line: line => [JSON.parse(line)] });
  for (const event of events) report.take(JSON.stringify(event));
  return report;
}

test('a failure of the API counts until the model has answered', () => {
  expect(reportOf(RETRY).retry).toEqual({ code: 'ENGINE_RATE_LIMITED', waitMs: 40_000, text: 'failed' });
  expect(reportOf(RETRY, { type: 'note', text: 'other' }, { type: 'chat', id: 'c' }).retry).not.toBeNull();
  for (const event of [
    { type: 'text', text: 'Here.' },
    { type: 'tool', name: 'bash', detail: '' },
  ] as const)
    expect(reportOf(RETRY, event).retry).toBeNull();
});

test('notes for the result appear once; other notes are for the log', () => {
  const cut: EngineEvent = { type: 'note', text: 'cut off', isForResult: true };
  expect([...reportOf(cut, { type: 'note', text: 'retry' }, cut).notes]).toEqual(['cut off']);
});

test.each([
  ['short lines', (at: number) => `${at}`],
  ['long lines', (at: number) => `${at} `.repeat(20_000)],
  ['empty lines', (at: number) => (at % 2 ? '' : `${at}`)],
])('the answer of an interrupted turn is the last 64 KiB of its text: %s', (_, lineAt) => {
  const lines = Array.from({ length: 20_000 }, (_, at) => (at < 19_900 ? `${at}` : lineAt(at)));
  const report = reportOf(...lines.map(text => ({ type: 'text', text }) as const));
  expect(report.answer).toBe(lines.join('\n').slice(-64 * 1024));
  expect(reportOf({ type: 'text', text: 'one' }, { type: 'text', text: 'two' }).answer).toBe('one\ntwo');
});
