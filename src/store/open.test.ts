import { chmodSync, cpSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { openForTest } from './fixtures/open-for-test.ts';
import { aRun, aSquad, started } from './fixtures/sample-rows.ts';
import { tempFile } from './fixtures/temp-file.ts';
import { openStore } from './open.ts';

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** A database with something in it, closed and whole in one file. */
async function written(file: string): Promise<void> {
  const store = await openStore({ database: file, version: '1.2.3' });
  const squad = aSquad();
  const runs = Array.from({ length: 50 }, (_, position) => aRun(squad, { position }));
  await store.commit({ squads: [squad], runs, events: runs.map(run => started(run)) });
  await store.close();
}

function rootPage(file: string, table: string): number {
  const handle = new BetterSqlite3(file);
  const page = handle.prepare('select rootpage from sqlite_schema where name = ?').pluck().get(table);
  handle.close();
  return page as number;
}

test('the folder and the file are made for the user only, and one that exists keeps its mode', async () => {
  const file = tempFile('some/where/squad.db');
  await openForTest(file);
  expect([mode(dirname(file)), mode(dirname(dirname(file))), mode(file), mode(`${file}-wal`)]).toEqual([
    '700',
    '700',
    '600',
    '600',
  ]);
  const other = tempFile();
  chmodSync(dirname(other), 0o755);
  await openForTest(other);
  expect(mode(dirname(other))).toBe('755');
});

test('two openings at the same time make one database', async () => {
  const file = tempFile();
  const [one, two] = await Promise.all([openForTest(file), openForTest(file)]);
  const run = aRun(aSquad());
  await Promise.all([one.commit({ events: [started(run)] }), two.commit({ events: [started(run)] })]);
  expect((await one.events({ limit: 9 })).map(event => event.seq)).toEqual([1, 2]);
});

test('a first opening that was killed half way is undone by the next', async () => {
  const whole = tempFile();
  const killed = new BetterSqlite3(whole);
  killed.exec('pragma cache_size = 1; begin; create table half (text)');
  killed.prepare('insert into half values (?)').run('x'.repeat(100_000));
  const file = tempFile();
  for (const end of ['', '-journal']) cpSync(whole + end, file + end);
  killed.close();
  expect(statSync(file).size).toBeGreaterThan(0);
  const store = await openForTest(file);
  expect(await store.liveRuns()).toEqual([]);
});

describe('a damaged file', () => {
  const damages: Record<string, (file: string) => void> = {
    'full of garbage': file => writeFileSync(file, 'garbage! '.repeat(2000)),
    'shorter than a head': file => truncateSync(file, 50),
    'cut in the middle': file => truncateSync(file, statSync(file).size >> 1),
    'cut by a few bytes': file => truncateSync(file, statSync(file).size - 7),
    'with a head of zeros': file => writeFileSync(file, readFileSync(file).fill(0, 0, 100)),
    'all zeros': file => writeFileSync(file, Buffer.alloc(20_000)),
  };
  test.each(Object.keys(damages))('%s is named and left as it was', async name => {
    const file = tempFile();
    await written(file);
    damages[name]!(file);
    const before = readFileSync(file);
    await expect(openStore({ database: file, version: '1.2.3' })).rejects.toMatchObject({
      code: 'DATABASE_CORRUPT',
      message: expect.stringContaining(file),
      suggestions: expect.arrayContaining([expect.stringContaining('renamed and kept')]),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test.each(['', 'garbage! '.repeat(2000)])('beside waiting changes keeps those changes', async content => {
    const whole = tempFile();
    await written(whole);
    const store = await openForTest(whole);
    await store.setSetting('a', '1');
    const file = tempFile();
    cpSync(`${whole}-wal`, `${file}-wal`);
    writeFileSync(file, content);
    const log = readFileSync(`${file}-wal`);
    await expect(openStore({ database: file, version: '1.2.3' })).rejects.toMatchObject({
      code: 'DATABASE_CORRUPT',
    });
    expect(log.length).toBeGreaterThan(0);
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true);
  });

  test('whose damage shows only later is named then, and nothing more is written to it', async () => {
    const file = tempFile();
    await written(file);
    const page = rootPage(file, 'events');
    writeFileSync(file, readFileSync(file).fill('garbage!', (page - 1) * 4096, page * 4096));
    const store = await openForTest(file);
    const damaged = { code: 'DATABASE_CORRUPT', message: expect.stringContaining(file) };
    await expect(store.events({ limit: 9 })).rejects.toMatchObject(damaged);
    const [one, two] = [aSquad(), aSquad()];
    await store.commit({ squads: [one], events: [] });
    await expect(store.commit({ events: [started(aRun(one))] })).rejects.toMatchObject(damaged);
    await expect(store.commit({ squads: [two], events: [] })).rejects.toMatchObject(damaged);
    expect([await store.squad(one.id), await store.squad(two.id)]).toEqual([one, null]);
  });
});

describe('a newer database', () => {
  test('is refused by name and version, and nothing in it is changed', async () => {
    const file = tempFile();
    await written(file);
    const newer = new BetterSqlite3(file);
    newer.exec(`insert into migrations values ('999-from-the-future', 1, '9.8.7')`);
    newer.close();
    const before = readFileSync(file);
    const refused = await openStore({ database: file, version: '1.2.3' }).catch(error => error);
    expect(refused).toMatchObject({ code: 'DATABASE_TOO_NEW' });
    for (const part of [file, '9.8.7', '1.2.3']) expect(refused.message).toContain(part);
    expect(refused.suggestions.join(' ')).toContain('Upgrade');
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('is refused before any migration it lacks is applied', async () => {
    const file = tempFile();
    await written(file);
    const newer = new BetterSqlite3(file);
    newer.exec(
      `delete from migrations; insert into migrations values ('999-from-the-future', 1, '9.8.7'); drop table settings`,
    );
    newer.close();
    await expect(openStore({ database: file, version: '1.2.3' })).rejects.toMatchObject({
      code: 'DATABASE_TOO_NEW',
    });
    const after = new BetterSqlite3(file);
    const names = after.prepare('select name from migrations').pluck().all();
    const settings = after.prepare(`select 1 from sqlite_schema where name = 'settings'`).all();
    after.close();
    expect([names, settings]).toEqual([['999-from-the-future'], []]);
  });
});

describe('a path that cannot be our database', () => {
  test('a database of another program is refused and not touched', async () => {
    const whole = tempFile();
    const other = new BetterSqlite3(whole);
    other.pragma('journal_mode = WAL');
    other.exec('create table migrations (id integer); create table runs (id integer)');
    const file = tempFile();
    const parts = ['', '-wal'];
    for (const part of parts) cpSync(whole + part, file + part);
    other.close();
    const before = parts.map(part => readFileSync(file + part).toString('hex'));
    await expect(openStore({ database: file, version: '1.2.3' })).rejects.toMatchObject({
      code: 'DATABASE_FAILED',
      message: expect.stringContaining('another program'),
    });
    expect(parts.map(part => readFileSync(file + part).toString('hex'))).toEqual(before);
  });

  test('a folder, and a path through a file, are errors that name the path', async () => {
    const folder = tempFile('folder.db');
    mkdirSync(folder);
    const file = tempFile();
    writeFileSync(file, '');
    for (const path of [folder, join(file, 'squad.db')]) {
      const error = await openStore({ database: path, version: '1.2.3' }).catch(thrown => thrown);
      expect(['PERMISSION_DENIED', 'DATABASE_FAILED']).toContain(error.code);
      expect(error.message).toContain(path);
    }
  });
});
