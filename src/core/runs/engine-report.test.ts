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
