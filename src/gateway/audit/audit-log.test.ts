import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { figure } from '../../../test/faults/figures.ts';
import { anEntry, auditFolder, linesIn, namesIn, openLog, writeLog } from '../testing/audit-folder.ts';
import { type Fate, faultyDisk } from '../testing/faulty-disk.ts';
import { type AuditDisk, auditDisk, fieldsOf, type Link, lineAfter } from './audit-files.ts';
import { verifyAudit } from './read-audit.ts';

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `tool ${from + i}`);
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const current = (folder: string) => join(folder, 'audit.jsonl');

describe('the log', () => {
  test('holds one line an entry, numbered, timed and chained, for the user only', {
    tags: ['S8'],
  }, async () => {
    const folder = auditFolder();
    const log = openLog(folder);
    log.append(
      anEntry('read', {
        argumentShape: '{"path":"string"}',
        argumentHash: 'ab',
        resultBytes: 12,
        durationMs: 1.5,
      }),
    );
    log.append(anEntry('write', { decision: 'denied', outcome: 'unknown', runId: null }));
    await log.flush();
    const [one, two] = linesIn(folder).map(line => JSON.parse(line));
    expect(Object.keys(one)).toEqual(
      'seq at runId roleId workspace server kind name decision outcome argumentShape argumentHash resultBytes durationMs prev hash'.split(
        ' ',
      ),
    );
    expect(one).toMatchObject({ seq: 1, at: '2023-11-14T22:13:20.000Z', name: 'read', prev: '0'.repeat(64) });
    expect(two).toMatchObject({ seq: 2, at: '2023-11-14T22:13:20.001Z', decision: 'denied', prev: one.hash });
    expect([mode(folder), mode(current(folder)), mode(join(folder, 'audit.head'))]).toEqual([
      '700',
      '600',
      '600',
    ]);
    expect(await log.verify()).toEqual({ problem: null, entries: 2, files: 1, lastHash: two.hash });
  });

  test('is written by itself, without anybody waiting for it', { tags: ['S8'] }, async () => {
    const folder = auditFolder();
    openLog(folder).append(anEntry('read'));
    await expect.poll(() => namesIn(folder)).toEqual(['read']);
  });

  test('makes no file while there is nothing to write down', async () => {
    const folder = auditFolder();
    const log = openLog(folder);
    await log.flush();
    expect(await log.verify()).toEqual({ problem: null, entries: 0, files: 0, lastHash: null });
    expect(await log.entries({ limit: 5 })).toEqual({ entries: [], unreadable: 0 });
    await log.close();
    expect(existsSync(folder)).toBe(false);
  });

  test('goes on where the last one ended', async () => {
    const folder = auditFolder();
    await writeLog(folder, numbered(1, 3));
    await writeLog(folder, numbered(4, 5));
    expect(namesIn(folder)).toEqual(numbered(1, 5));
    expect(await verifyAudit(folder)).toMatchObject({ problem: null, entries: 5 });
  });

  test('takes nothing more once it is closed', async () => {
    const log = openLog(auditFolder());
    await log.close();
    expect(() => log.append(anEntry('read'))).toThrow(expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }));
    expect(() => log.check()).toThrow(expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }));
  });

  test('keeps an entry as it was when it was given', async () => {
    const folder = auditFolder();
    const log = openLog(folder);
    const entry = anEntry('read');
    log.append(entry);
    entry.name = 'changed since';
    await log.flush();
    expect(namesIn(folder)).toEqual(['read']);
  });
});

describe('on disk for good', () => {
  /** A clock that the test advances. */
  function stoppedTime() {
    const waits = new Map<() => void, number>();
    return {
      timers: {
        after(ms: number, run: () => void) {
          waits.set(run, ms);
          return () => waits.delete(run);
        },
        monotonic: () => 0,
      },
      /** Everything that waits for so long, and not longer, is due. */
      pass(ms: number) {
        for (const [run, wait] of [...waits])
          if (wait <= ms) {
            waits.delete(run);
            run();
          }
      },
      waiting: () => [...waits.values()],
    };
  }

  test('is a denial or an approval with the write it is in, anything else within a second', {
    tags: ['S8'],
  }, async () => {
    const folder = auditFolder();
    const { timers, pass, waiting } = stoppedTime();
    const { disk, syncs } = faultyDisk(() => 'works');
    const log = openLog(folder, { disk, timers });
    log.append(anEntry('read'));
    log.append(anEntry('read again'));
    expect(waiting()).toEqual([25]);
    pass(25);
    await expect.poll(() => waiting()).toEqual([1000]);
    expect([namesIn(folder).length, syncs()]).toEqual([2, 0]);
    pass(1000);
    await expect.poll(() => syncs()).toBe(1);

    for (const urgent of [{ decision: 'denied' }, { kind: 'approval' }] as const) {
      const before = syncs();
      log.append(anEntry('urgent', urgent));
      pass(25);
      await expect.poll(() => syncs()).toBe(before + 1);
      expect(waiting()).toEqual([]);
    }
  });
});

describe('files', () => {
  test('are put aside when they are full, named by their first line, with the chain going on from one to the next', async () => {
    const folder = auditFolder();
    await writeLog(folder, numbered(1, 40), { fileBytes: 2000 });
    await writeLog(folder, numbered(41, 60), { fileBytes: 2000 });
    const older = readdirSync(folder).filter(file => /^audit-\d+\.jsonl$/.test(file));
    expect(older.length).toBeGreaterThan(5);
    for (const file of older) {
      const [, first] = /-(\d+)\./.exec(file)!;
      expect(readFileSync(join(folder, file), 'utf8')).toMatch(new RegExp(`^{"seq":${first},`));
    }
    expect(namesIn(folder)).toEqual(numbered(1, 60));
    expect(await verifyAudit(folder)).toMatchObject({ problem: null, entries: 60 });
  });

  test('that are in the way of one put aside are left alone', async () => {
    const folder = auditFolder();
    await writeLog(folder, ['first']);
    appendFileSync(join(folder, 'audit-1.jsonl'), 'not ours\n');
    const log = openLog(folder, { fileBytes: 1000 });
    for (const name of numbered(1, 10)) {
      log.append(anEntry(name));
      await log.flush();
    }
    expect(readFileSync(join(folder, 'audit-1.jsonl'), 'utf8')).toBe('not ours\n');
    expect(log.warned.filter(line => line.includes('audit-1.jsonl'))).toHaveLength(1);
    expect((await log.verify()).problem).toMatchObject({ file: join(folder, 'audit-1.jsonl'), line: 1 });
  });

  test('put aside while the log is read are neither missed nor read twice', async () => {
    const folder = auditFolder();
    const log = openLog(folder, { fileBytes: 3000 });
    for (let round = 0; round < 10; round++) {
      const reading = Promise.all([log.verify(), log.entries({ limit: 1000 })]);
      for (const name of numbered(1, 10)) {
        log.append(anEntry(name));
        await log.flush();
      }
      const [{ problem }, { entries }] = await reading;
      expect(problem).toBeNull();
      expect(entries.map(entry => entry.seq)).toEqual(entries.map((_, i) => i + 1));
    }
  });

  test('that have their new name while they are still open under the old one are one file', async () => {
    const folder = auditFolder();
    await writeLog(folder, numbered(1, 3));
    linkSync(current(folder), join(folder, 'audit-1.jsonl'));
    expect(await verifyAudit(folder)).toMatchObject({ problem: null, entries: 3, files: 1 });
  });
});

describe('a disk that fails', () => {
  const fates: Exclude<Fate, 'works'>[] = ['ENOSPC', 'EIO', 'EROFS', 'short', 'slow'];
  const MAX_CHANGES = 400;

  test.each(fates)(
    'with %s at any one change loses nothing, writes nothing twice, and the chain holds',
    { tags: ['R22'] },
    async fate => {
      let [total, all] = [1, 1];
      for (let bad = 0; bad < total; bad++) {
        const folder = auditFolder();
        const { disk, changes } = faultyDisk(change => (change === bad ? fate : 'works'));
        const log = openLog(folder, { disk, fileBytes: 1500 });
        for (let i = 0; i < 8; i++) {
          // An entry is kept even when taking it throws.
          try {
            log.append(anEntry(`tool ${i + 1}`));
          } catch (thrown) {
            expect(thrown).toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
          }
          await log.flush().catch(error => expect(error).toMatchObject({ code: 'AUDIT_UNAVAILABLE' }));
        }
        await log.flush();
        expect(namesIn(folder)).toEqual(numbered(1, 8));
        expect(await log.verify()).toMatchObject({ problem: null, entries: 8 });
        await log.close();
        expect(await verifyAudit(folder)).toMatchObject({ problem: null, entries: 8 });
        all = changes();
        total = Math.min(MAX_CHANGES, all);
      }
      expect(total).toBeGreaterThan(20);
      figure('R22', {
        reached: total,
        of: all,
        told: `${fate} at each of ${total} changes of the audit log`,
      });
    },
  );

  test.each(fates)(
    'with %s from some change on closes the log until it works again',
    { tags: ['R22'] },
    async fate => {
      for (let from = 0; from < 14; from++) {
        const folder = auditFolder();
        let isBroken = true;
        const { disk } = faultyDisk(change => (isBroken && change >= from ? fate : 'works'));
        const log = openLog(folder, { disk });
        const refused: string[] = [];
        for (const name of numbered(1, 6)) {
          try {
            log.append(anEntry(name, { decision: 'denied' }));
          } catch (thrown) {
            refused.push(name);
            expect((thrown as Error).message).toContain(current(folder));
          }
          await log.flush().catch(() => {});
        }
        if (fate !== 'short' && fate !== 'slow') {
          expect(refused.length).toBeGreaterThan(0);
          expect(() => log.check()).toThrow(expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }));
          expect(log.warned.filter(line => line.includes(fate))).toHaveLength(1);
        }
        isBroken = false;
        await log.flush();
        log.check();
        log.append(anEntry('tool 7'));
        await log.close();
        expect(namesIn(folder)).toEqual(numbered(1, 7));
        expect(await verifyAudit(folder)).toMatchObject({ problem: null, entries: 7 });
      }
    },
  );

  test('is tried again without anybody asking', async () => {
    const folder = auditFolder();
    let isBroken = true;
    const { disk } = faultyDisk(() => (isBroken ? 'ENOSPC' : 'works'));
    const log = openLog(folder, { disk });
    log.append(anEntry('read'));
    await expect(log.flush()).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
    isBroken = false;
    await vi.waitFor(() => log.check(), { timeout: 60_000 });
    expect(namesIn(folder)).toEqual(['read']);
    expect(log.warned.at(-1)).toContain('can be written again');
  });

  test('for good keeps no more than there is room for, and says how much was dropped', async () => {
    const folder = auditFolder();
    let isBroken = true;
    const { disk } = faultyDisk(() => (isBroken ? 'EIO' : 'works'));
    const log = openLog(folder, { disk });
    const big = anEntry('big', { workspace: 'x'.repeat(4000) });
    let refused = 0;
    for (let i = 0; i < 6000; i++) {
      try {
        log.append(big);
      } catch {
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(1000);
    await log.flush().catch(() => {});
    isBroken = false;
    await log.flush();
    await log.flush();
    expect(linesIn(folder)).toHaveLength(6000 - refused + 1);
    expect(namesIn(folder).at(-1)).toContain(`${refused} entries were lost`);
    expect((await log.verify()).problem).toBeNull();
  });

  test('that drops what it could not sync is given it again', async () => {
    const folder = auditFolder();
    let isBad = false;
    const disk: AuditDisk = {
      ...auditDisk,
      async open(path) {
        const file = await auditDisk.open(path);
        let safe = await file.size();
        return {
          ...file,
          async datasync() {
            const size = await file.size();
            if (isBad) {
              isBad = false;
              await file.write(Buffer.alloc(size - safe), safe);
              throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
            }
            safe = size;
          },
        };
      },
    };
    const log = openLog(folder, { disk });
    log.append(anEntry('tool 1'));
    await log.flush();
    isBad = true;
    for (const name of numbered(2, 4)) log.append(anEntry(name));
    await expect(log.flush()).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
    await log.flush();
    expect(namesIn(folder)).toEqual(numbered(1, 4));
    expect((await log.verify()).problem).toBeNull();
  });

  test('whose folder goes away is noticed: a new log says that lines are missing', async () => {
    const folder = auditFolder();
    const log = openLog(folder);
    for (const name of numbered(1, 3)) log.append(anEntry(name));
    await log.flush();
    rmSync(folder, { recursive: true });
    log.append(anEntry('after'));
    await log.flush();
    expect(namesIn(folder)).toEqual(['after']);
    expect(log.warned.join()).toContain('removed or replaced');
    expect((await log.verify()).problem).toMatchObject({ what: 'missing', line: 1, seq: 1 });
  });
});

describe('files of a killed hub', () => {
  test.each([1, 40, 200])('a line of which %i bytes were written is cut off and reported', async bytes => {
    const folder = auditFolder();
    await writeLog(folder, numbered(1, 3));
    const line = linesIn(folder)[2]!;
    appendFileSync(current(folder), line.slice(0, bytes));
    const log = openLog(folder);
    log.append(anEntry('next'));
    await log.flush();
    expect(namesIn(folder)).toEqual([
      ...numbered(1, 3),
      `an incomplete last line of ${bytes} bytes was cut off`,
      'next',
    ]);
    expect(JSON.parse(linesIn(folder)[3]!)).toMatchObject({ kind: 'repair' });
    expect(await log.verify()).toMatchObject({ problem: null, entries: 5 });
  });

  test('is reported although the disk fails at any change of the repair', async () => {
    for (let bad = 0; bad < 5; bad++) {
      const folder = auditFolder();
      await writeLog(folder, numbered(1, 3));
      appendFileSync(current(folder), '{"seq":4,');
      const { disk } = faultyDisk(change => (change === bad ? 'EIO' : 'works'));
      const log = openLog(folder, { disk });
      log.append(anEntry('next'));
      await log.flush().catch(() => {});
      await log.flush();
      expect(namesIn(folder).slice(3)).toEqual(['an incomplete last line of 9 bytes was cut off', 'next']);
      expect(await log.verify()).toMatchObject({ problem: null, entries: 5 });
    }
  });

  test('between putting a file aside and making the next, the chain goes on', async () => {
    const folder = auditFolder();
    await writeLog(folder, numbered(1, 3));
    await auditDisk.rename(current(folder), join(folder, 'audit-1.jsonl'));
    await writeLog(folder, numbered(4, 5));
    expect(await verifyAudit(folder)).toMatchObject({ problem: null, entries: 5, files: 2 });
  });

  test('is whole up to what it was killed in, whenever that was', { tags: ['S8'] }, async () => {
    const folder = auditFolder();
    for (const linesBeforeKill of [1, 60, 400]) {
      const writer = spawn(process.execPath, [
        fileURLToPath(new URL('../testing/append-until-killed.ts', import.meta.url)),
        folder,
      ]);
      onTestFinished(() => void writer.kill('SIGKILL'));
      const flushed: string[] = [];
      const lines = createInterface({ input: writer.stdout });
      const ended = once(writer, 'close');
      for await (const line of lines) {
        flushed.push(line);
        if (flushed.length === linesBeforeKill) writer.kill('SIGKILL');
      }
      await ended;
      const log = openLog(folder);
      const verdict = await log.verify();
      expect(verdict.problem).toBeNull();
      const names = new Set(namesIn(folder));
      expect(flushed.filter(name => !names.has(name))).toEqual([]);
      await log.close();
    }
  });
});

describe('a log that somebody changed meanwhile', { tags: ['forging-of-logs-and-of-the-audit'] }, () => {
  const cases: Record<string, [change: (file: string) => void, what: string]> = {
    'cut at the end of a line': [
      file => truncateSync(file, readFileSync(file).lastIndexOf('\n', statSync(file).size - 2) + 1),
      'missing',
    ],
    'cut within a line': [file => truncateSync(file, statSync(file).size - 20), 'missing'],
    emptied: [file => truncateSync(file, 0), 'missing'],
    removed: [file => rmSync(file), 'missing'],
    'with a line more': [
      file => appendFileSync(file, `${readFileSync(file, 'utf8').split('\n')[0]}\n`),
      'reordered',
    ],
    'with garbage at its end': [file => appendFileSync(file, 'garbage\n'), 'unreadable'],
  };
  test.each(Object.keys(cases))('%s: the next hub does not hide it', async name => {
    const folder = auditFolder();
    await writeLog(folder, numbered(1, 5));
    const [change, what] = cases[name]!;
    change(current(folder));
    const log = openLog(folder);
    expect((await log.verify()).problem).not.toBeNull();
    log.append(anEntry('next'));
    expect((await log.verify()).problem).toMatchObject({ what });
    await log.close();
    await writeLog(folder, ['and another']);
    expect((await verifyAudit(folder)).problem).toMatchObject({ what });
    expect(linesIn(folder).join()).toContain('does not end as it was left, with line 5');
  });

  test('with a forged line that fits: the next hub does not go on from it', async () => {
    const folder = auditFolder();
    await writeLog(folder, numbered(1, 5));
    const last = JSON.parse(linesIn(folder)[4]!) as Link;
    appendFileSync(current(folder), lineAfter(last, 1_700_000_000_000, fieldsOf(anEntry('forged'))).line);
    await writeLog(folder, ['next']);
    expect((await verifyAudit(folder)).problem).toMatchObject({ what: 'reordered', line: 7 });
  });

  test.each(Object.keys(cases))('%s: the running hub neither hides it nor stops', async name => {
    const folder = auditFolder();
    const log = openLog(folder);
    for (const each of numbered(1, 5)) log.append(anEntry(each));
    await log.flush();
    cases[name]![0](current(folder));
    expect((await log.verify()).problem).not.toBeNull();
    log.append(anEntry('next'));
    await log.flush();
    expect((await log.verify()).problem).not.toBeNull();
    expect(log.warned.join()).toMatch(/changed by another program|removed or replaced/);
    expect(readFileSync(current(folder), 'utf8')).toContain('"name":"next"');
  });
});
