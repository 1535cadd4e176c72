/** Events that readers report when an agent is killed, its lines are damaged, or its output is not events. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EngineEvent } from '../core/ports/engine.ts';
import { cliProfile, cliProfiles, readerOf } from './cli-profiles.ts';
import { endIn, linesOf, RECORDED, ROOT, readLines } from './testing/recorded.ts';

describe.each(RECORDED)('output of %s', cli => {
  test('killed at any line, it is never done', async () => {
    const lines = linesOf(cli, 'tool');
    for (let kept = 0; kept < lines.length - 1; kept++) {
      const events = await readLines(cliProfile(cli).reader(), lines.slice(0, kept), 143, '');
      expect(endIn(events)?.ok ?? false).toBe(false);
    }
  });

  test('without a line that was too long to read, no other text is its answer', async () => {
    const lines = linesOf(cli, 'tool');
    const wasDone = await Promise.all(
      lines.map(async (_, missing) => {
        const reader = cliProfile(cli).reader();
        const before = lines.slice(0, missing).flatMap(line => reader.line(line));
        const skipped = reader.tooLong?.(lines[missing]!.slice(0, 1024)) ?? [];
        const after = await readLines(
          reader,
          lines.slice(missing + 1),
          0,
          '',
          file => `${ROOT}/${cli}/tool.${file}`,
        );
        const end = endIn([...before, ...skipped, ...after]);
        if (end?.ok) expect(end.answer).toBe('It said hi.');
        return end?.ok === true;
      }),
    );
    // Output of tools, for instance, is no answer.
    expect(wasDone).toContain(true);
    expect(wasDone).toContain(false);
  });

  test('half of any line is passed over', async () => {
    for (const line of linesOf(cli, 'tool')) {
      const reader = cliProfile(cli).reader();
      expect(reader.line(line.slice(0, line.length / 2)).filter(isDone)).toEqual([]);
    }
  });

  test('survives any value in any place of any line', () => {
    const lines = readdirSync(join(ROOT, cli))
      .filter(file => file.endsWith('.jsonl'))
      .flatMap(file => linesOf(cli, file.replace('.jsonl', '')));
    const damaged = fc
      .tuple(fc.constantFrom(...lines), fc.nat(), fc.jsonValue({ maxDepth: 2 }))
      .map(([line, place, value]) => damage(line, place, value));
    fc.assert(
      fc.property(fc.array(damaged, { minLength: 1, maxLength: 12 }), some => {
        const reader = cliProfile(cli).reader();
        for (const line of some) for (const event of reader.line(line)) expectSound(event);
      }),
      { numRuns: 300 },
    );
  });
});

describe.each([...cliProfiles().map(({ id }) => id), 'squad' as const])('the reader of %s', kind => {
  const reader = () => readerOf(kind)!();

  test('passes over what is no event', () => {
    const noise = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom(
        '',
        '{',
        '[]',
        'null',
        '{"type":',
        '{"type":"from-the-future","x":1}',
        '\ufffd{"type":"end"}',
      ),
    );
    fc.assert(
      fc.property(fc.array(noise), lines => {
        const one = reader();
        for (const line of lines) expect(one.line(line).filter(isDone)).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(reader().line(`{"type":"${'x'.repeat(1_000_000)}`)).toEqual([]);
    expect(reader().line('x'.repeat(1_000_000))).toEqual([]);
  });

  test('nothing at all with exit code 0 is not success', async () => {
    expect(endIn(await readLines(reader(), [], 0, ''))?.ok ?? false).toBe(false);
  });
});

const isDone = (event: EngineEvent): boolean => event.type === 'end' && event.ok;

function expectSound(event: EngineEvent): void {
  if (event.type === 'text' || event.type === 'note') expect(typeof event.text).toBe('string');
  if (event.type === 'tool') expect([typeof event.name, typeof event.detail]).toEqual(['string', 'string']);
  if (event.type === 'chat') expect(typeof event.id).toBe('string');
  if (event.type === 'end') expect([typeof event.ok, typeof event.answer]).toEqual(['boolean', 'string']);
  if (event.type === 'usage')
    for (const figure of ['input', 'output', 'cached', 'costUsd'] as const)
      expect(event.usage[figure] ?? 0).toSatisfy((known: number) => Number.isFinite(known) && known >= 0);
}

/** The same line with another value in one of its places. */
function damage(line: string, place: number, value: unknown): string {
  let left = place % JSON.stringify(JSON.parse(line)).split(/[,:[{]/).length;
  return JSON.stringify(JSON.parse(line), (_key, old) => (left-- === 0 ? value : old));
}
