import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AuditBreak } from '../../schema/audit.ts';
import { anEntry, auditFolder, linesIn, openLog, writeLog } from '../testing/audit-folder.ts';
import { fieldsOf, type Link, lineAfter } from './audit-files.ts';
import { verifyAudit } from './read-audit.ts';

const LINES = 200;
const names = Array.from({ length: LINES }, (_, i) => `tool ${i + 1}`);
const aLine = fc.nat(LINES - 1);

/** Writes a log of 200 lines, closed in order, and says what is wrong with it after `change`. */
async function tampering(): Promise<{
  lines: string[];
  problemAfter(change: (lines: string[]) => string[]): Promise<AuditBreak | null>;
  problemAfterBytes(change: (bytes: Buffer) => Buffer): Promise<AuditBreak | null>;
}> {
  const folder = auditFolder();
  await writeLog(folder, names);
  const file = join(folder, 'audit.jsonl');
  const bytes = readFileSync(file);
  const lines = linesIn(folder);
  async function problemAfterBytes(change: (bytes: Buffer) => Buffer) {
    writeFileSync(file, change(Buffer.from(bytes)));
    return (await verifyAudit(folder)).problem;
  }
  const problemAfter = (change: (lines: string[]) => string[]) =>
    problemAfterBytes(() =>
      Buffer.from(
        change([...lines])
          .map(line => `${line}\n`)
          .join(''),
      ),
    );
  return { lines, problemAfter, problemAfterBytes };
}

describe('a single file', () => {
  test('as it was written is in order', async () => {
    const { problemAfter } = await tampering();
    expect(await problemAfter(lines => lines)).toBeNull();
  });

  test('with any bit of any byte changed is broken at that line', {
    tags: ['forging-of-logs-and-of-the-audit'],
  }, async () => {
    const { problemAfterBytes } = await tampering();
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(7), async (where, bit) => {
        let line = 0;
        const problem = await problemAfterBytes(bytes => {
          const at = where % bytes.length;
          line = bytes.subarray(0, at).toString('latin1').split('\n').length;
          bytes[at]! ^= 1 << bit;
          return bytes;
        });
        expect(problem).toMatchObject({ line, seq: line });
      }),
      { numRuns: 200 },
    );
  });

  test('with any byte of its first line changed is broken there', async () => {
    const { lines, problemAfterBytes } = await tampering();
    for (let at = 0; at <= lines[0]!.length; at++) {
      const problem = await problemAfterBytes(bytes => {
        bytes[at]! ^= 1;
        return bytes;
      });
      expect(problem).toMatchObject({ line: 1, seq: 1 });
    }
  });

  test('without any one line is broken where it was', {
    tags: ['forging-of-logs-and-of-the-audit'],
  }, async () => {
    const { problemAfter } = await tampering();
    await fc.assert(
      fc.asyncProperty(aLine, async at => {
        expect(await problemAfter(lines => lines.toSpliced(at, 1))).toMatchObject({
          line: at + 1,
          seq: at + 1,
          what: at === LINES - 1 ? 'cut' : 'missing',
        });
      }),
    );
  });

  test('with any two lines swapped is broken at the first of them', {
    tags: ['forging-of-logs-and-of-the-audit'],
  }, async () => {
    const { problemAfter } = await tampering();
    await fc.assert(
      fc.asyncProperty(aLine, aLine, async (a, b) => {
        fc.pre(a !== b);
        const problem = await problemAfter(lines => lines.with(a, lines[b]!).with(b, lines[a]!));
        expect(problem).toMatchObject({ line: Math.min(a, b) + 1, what: 'reordered' });
      }),
    );
  });

  test('cut anywhere is broken there', async () => {
    const { problemAfterBytes } = await tampering();
    await fc.assert(
      fc.asyncProperty(fc.nat(), async where => {
        let line = 0;
        const problem = await problemAfterBytes(bytes => {
          const rest = bytes.subarray(0, where % bytes.length);
          line = rest.toString('latin1').split('\n').length;
          return rest;
        });
        expect(problem).toMatchObject({ line, what: 'cut' });
      }),
    );
  });

  test('with a line copied, emptied or forged is broken at that line', {
    tags: ['forging-of-logs-and-of-the-audit'],
  }, async () => {
    const { lines, problemAfter } = await tampering();
    expect(await problemAfter(all => [...all, all[3]!])).toMatchObject({
      line: LINES + 1,
      what: 'reordered',
    });
    expect(await problemAfter(all => all.toSpliced(7, 0, ''))).toMatchObject({ line: 8, what: 'unreadable' });
    expect(await problemAfter(all => all.with(7, '{"seq":8}'))).toMatchObject({ line: 8, what: 'edited' });
    const { seq, hash } = JSON.parse(lines.at(-1)!) as Link;
    const { line } = lineAfter({ seq, hash }, 1_700_000_000_000, fieldsOf(anEntry('forged')));
    expect(await problemAfter(all => [...all, line.trimEnd()])).toMatchObject({
      line: LINES + 1,
      what: 'edited',
    });
    const before = JSON.parse(lines[48]!) as Link;
    const middle = lineAfter(before, 1_700_000_000_000, fieldsOf(anEntry('forged'))).line.trimEnd();
    expect(await problemAfter(all => all.with(49, middle))).toMatchObject({ line: 51, what: 'edited' });
  });

  test('rewritten from a line on, with every hash made anew, does not end in the line that was written', async () => {
    const { lines, problemAfter } = await tampering();
    const problem = await problemAfter(all => {
      let link: Link = JSON.parse(lines[98]!);
      return all.map((line, i) => {
        if (i < 99) return line;
        const next = lineAfter(link, 1_700_000_000_000, fieldsOf(anEntry(`another ${i}`)));
        link = next.link;
        return next.line.trimEnd();
      });
    });
    expect(problem).toMatchObject({ line: LINES, what: 'edited' });
  });
});

describe('several files', () => {
  const written = async () => {
    const folder = auditFolder();
    await writeLog(folder, names.slice(0, 40), { fileBytes: 3000 });
    const older = readdirSync(folder)
      .flatMap(file => /^audit-(\d+)\.jsonl$/.exec(file)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
    return {
      folder,
      file: (at: number) => join(folder, `audit-${older[at]}.jsonl`),
      first: (at: number) => older[at]!,
    };
  };

  test('are one chain: one that is gone is missed, by the file after it', async () => {
    const { folder, file, first } = await written();
    expect(await verifyAudit(folder)).toMatchObject({ problem: null, entries: 40 });
    rmSync(file(1));
    expect((await verifyAudit(folder)).problem).toMatchObject({
      file: file(2),
      line: 1,
      seq: first(1),
      what: 'missing',
    });
  });

  test('the first of which is gone are broken at the start', async () => {
    const { folder, file } = await written();
    rmSync(file(0));
    expect((await verifyAudit(folder)).problem).toMatchObject({
      file: file(1),
      line: 1,
      seq: 1,
      what: 'missing',
    });
  });

  test('that changed places are reordered', async () => {
    const { folder, file } = await written();
    const [one, two] = [readFileSync(file(1)), readFileSync(file(2))];
    writeFileSync(file(1), two);
    writeFileSync(file(2), one);
    expect((await verifyAudit(folder)).problem).toMatchObject({ file: file(1), line: 1, what: 'reordered' });
  });
});

test('a log without its head may have lost its end, and says so', async () => {
  const folder = auditFolder();
  await writeLog(folder, names.slice(0, 3));
  rmSync(join(folder, 'audit.head'));
  expect((await verifyAudit(folder)).problem).toMatchObject({ what: 'cut', line: 4, seq: 4 });
});

test('a line without an end does not fill the memory', async () => {
  const folder = auditFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'audit.jsonl'), '');
  truncateSync(join(folder, 'audit.jsonl'), 256 * 1024 * 1024);
  const before = process.memoryUsage().arrayBuffers;
  expect((await verifyAudit(folder)).problem).toMatchObject({ line: 1 });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024);
});

describe('entries', () => {
  const read = async (folder: string, filter: Parameters<ReturnType<typeof openLog>['entries']>[0]) =>
    (await openLog(folder).entries(filter)).entries.map(entry => entry.name);

  test('are the newest ones, oldest first, across files', async () => {
    const folder = auditFolder();
    await writeLog(folder, names.slice(0, 40), { fileBytes: 3000 });
    expect(await read(folder, { limit: 30 })).toEqual(names.slice(10, 40));
    expect(await read(folder, { limit: 1000 })).toEqual(names.slice(0, 40));
  });

  test('are found over pieces of a large file', async () => {
    const folder = auditFolder();
    const many = Array.from({ length: 2000 }, (_, i) => `tool ${i} ${'é'.repeat(i % 150)}`);
    await writeLog(folder, many);
    expect(await read(folder, { limit: 2000 })).toEqual(many);
  });

  test('can be those of one run, or those that were denied; a name that looks like a field is none', async () => {
    const folder = auditFolder();
    const log = openLog(folder);
    const runId = 'run_0000000002' as never;
    log.append(anEntry('a'));
    log.append(anEntry('b', { runId }));
    log.append(anEntry('c', { runId, decision: 'denied' }));
    log.append(anEntry('d', { decision: 'denied' }));
    log.append(anEntry('"runId":"run_0000000002","decision":"denied"'));
    expect(await read(folder, { limit: 9 })).toHaveLength(0);
    await log.close();
    expect(await read(folder, { runId, limit: 9 })).toEqual(['b', 'c']);
    expect(await read(folder, { deniedOnly: true, limit: 9 })).toEqual(['c', 'd']);
    expect(await read(folder, { runId, deniedOnly: true, limit: 9 })).toEqual(['c']);
  });

  test('are read although there are lines that are none', async () => {
    const folder = auditFolder();
    await writeLog(folder, ['a']);
    appendFileSync(join(folder, 'audit.jsonl'), 'garbage\n{"seq":1}\n\n');
    const { entries, unreadable } = await openLog(folder).entries({ limit: 9 });
    expect([entries[0]?.name, unreadable]).toEqual(['a', 3]);
  });
});
