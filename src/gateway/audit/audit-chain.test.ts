import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../core/ports/gateway.ts';
import { anEntry } from '../testing/audit-folder.ts';
import { checkLine, fieldsOf, lineAfter, MAX_LINE_LENGTH, START } from './audit-files.ts';

const lineOf = (entry: AuditEntry) => lineAfter(START, 1_700_000_000_000, fieldsOf(entry)).line;
const NASTY = [
  'a\nb',
  'a\r\nb',
  'a\u2028b\u2029c',
  'a\u0085b\u000bc\u000cd',
  '\u001b[2J\u009b31m\u007f\u0000',
  '\u202eevil\u2066',
  '","decision":"allowed","hash":"',
  '\n{"seq":2,"at":"2026-01-01T00:00:00.000Z","decision":"allowed"}\n',
  'half \ud83d a character',
];

describe('a name in a line', () => {
  test.each(NASTY)('%j is one line of plain text and comes back as it was', name => {
    const line = lineOf(anEntry(name, { roleId: name, outcome: name, argumentShape: name }));
    expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u);
    expect(JSON.parse(line)).toMatchObject({ name, roleId: name, outcome: name, argumentShape: name });
    expect(checkLine(Buffer.from(line.trimEnd()))).toMatchObject({ seq: 1, prev: START.hash });
  });

  test('of any characters is one line that holds', { tags: ['forging-of-logs-and-of-the-audit'] }, () => {
    const text = fc.string({ unit: 'binary', maxLength: 50 });
    fc.assert(
      fc.property(text, text, (name, outcome) => {
        const line = lineOf(anEntry(name, { outcome }));
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(checkLine(Buffer.from(line.slice(0, -1)))).toMatchObject({ seq: 1 });
        expect(JSON.parse(line)).toMatchObject({ name, outcome });
      }),
    );
  });

  test('is cut to a length, never within a character, and so is everything else that was asked for', () => {
    const long = '😀'.repeat(10_000);
    const line = lineOf(
      anEntry(long, {
        roleId: long,
        subagent: long,
        workspace: long,
        server: long,
        kind: long,
        outcome: long,
        argumentShape: long,
      }),
    );
    const entry = JSON.parse(line);
    expect([entry.name.length, entry.argumentShape.length]).toEqual([199, 499]);
    expect(entry.name.isWellFormed()).toBe(true);
    expect(entry.name.endsWith('😀…')).toBe(true);
    const worst = '\u0000'.repeat(10_000);
    const widest = anEntry(worst, {
      roleId: worst,
      subagent: worst,
      workspace: worst,
      server: worst,
      kind: worst,
      outcome: worst,
      argumentShape: worst,
    });
    expect(Buffer.byteLength(lineOf(widest))).toBeLessThan(MAX_LINE_LENGTH);
  });
});

test('a line without its hash, its number or its order of fields is none of ours', () => {
  const line = lineOf(anEntry('read')).trimEnd();
  const { hash, ...rest } = JSON.parse(line);
  expect(checkLine(Buffer.from(JSON.stringify(rest)))).toBe('edited');
  expect(checkLine(Buffer.from(JSON.stringify({ hash, ...rest })))).toBe('edited');
  expect(checkLine(Buffer.from(JSON.stringify({ ...rest, hash: hash.toUpperCase() })))).toBe('edited');
  expect(checkLine(Buffer.from(`${line} `))).toBe('edited');
  expect(checkLine(Buffer.from('no JSON'))).toBe('unreadable');
  expect(checkLine(Buffer.from(''))).toBe('unreadable');
});
