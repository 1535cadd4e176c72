import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import type { Transaction } from 'kysely';
import type { RunSource } from '../core/ports/run-files.ts';
import { RECORDED_EVENTS, type RunRecord } from '../core/runs/run-record.ts';
import { SquadError } from '../schema/error.ts';
import type { EventBody, NewEvent } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import { isEnd, type RunStatus } from '../schema/run.ts';
import type { Backend } from './backend.ts';
import { putRows, putSetting, storedKey, toRows } from './changes.ts';
import type { Mark } from './commit-mark.ts';
import { migrate } from './migrations.ts';
import { isOwn, settings as settingsIn } from './queries.ts';
import { sqliteFailure } from './sqlite/failure.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import { salvage } from './sqlite/salvage.ts';
import { eventToRow, type Tables } from './tables.ts';

type Trx = Transaction<Tables>;

/** The fault of the database, and the runs that were restored. */
export type Restored = Omit<Extract<EventBody, { type: 'database.restored' }>, 'type'>;

interface Found extends Pick<Restored, 'why' | 'kept'> {
  /** Null if it is unknown which events the database must contain. */
  mark: Mark | null;
  /** The database lost commits, so its unfinished intents and its settings are out of date. */
  isBehind: boolean;
  /** Ended runs are also compared with their records if their folder changed after this time. */
  since: number;
}

/**
 * Restores missing rows from the run folders, in one transaction that also records an event. Returns null if nothing
 * was missing and the database was not known to be damaged or outdated.
 */
export function restoreRuns(
  backend: Backend,
  source: RunSource,
  { mark, isBehind, since, why, kept }: Found,
): Promise<Restored | null> {
  return backend.write(async trx => {
    const counts = { restored: 0, updated: 0, unrecorded: 0 };
    if (mark) await backend.skipTo(trx, mark.seq);
    const known = new Map<RunId, RunStatus>();
    for (const { id, status } of await trx.selectFrom('runs').select(['id', 'status']).execute())
      known.set(id, status);
    for (const { runId, changedAt } of await source.list()) {
      const status = known.get(runId);
      if (status !== undefined && isEnd(status) && changedAt < since) continue;
      const record = await source.record(runId);
      if (record) {
        // If the whole run is missing, its events are missing too. Otherwise single pages may be damaged, and events
        // are compared one by one.
        const isWholeMissing = status === undefined && kept === null;
        const missing = isWholeMissing ? record.events : await missingEvents(trx, runId, record);
        const isOlder = status !== undefined && isEnd(status) && !isEnd(record.run.status);
        if (status === undefined || (missing.length > 0 && !isOlder)) {
          await put(trx, backend, record, missing, why);
          counts[status === undefined ? 'restored' : 'updated']++;
        } else if (kept !== null && (await fillIn(trx, record))) counts.updated++;
      } else if (status === undefined) {
        const made = await source.unrecorded(runId, changedAt);
        if (!made) continue;
        await put(trx, backend, made, made.events, why);
        counts.unrecorded++;
      }
    }
    const isNothing = Object.values(counts).every(count => count === 0);
    if (isBehind || (!mark && !isNothing)) {
      // An intent of an outdated state may have been carried out since. Rolling it back now could undo work.
      await trx.deleteFrom('intents').where(isOwn(trx, 'intents')).execute();
      if (mark) await replaceSettings(trx, mark.settings, backend.hub);
    }
    if (isNothing && !isBehind && kept === null) return null;
    const restored: Restored = { why, kept, ...counts };
    await backend.append(trx, [eventToRow(eventOf(restored))]);
    return restored;
  });
}

async function put(
  trx: Trx,
  backend: Backend,
  record: RunRecord,
  events: RunRecord['events'],
  why: string,
): Promise<void> {
  const { squad, turns, reviews } = record;
  const note = `Restored from its folder: ${why}. Earlier questions, activity and tool calls may be missing.`;
  const run = { ...record.run, notes: [...record.run.notes, note] };
  const chats: RunRecord['chats'] = [];
  for (const chat of record.chats) if (await mayTake(trx, chat, run.id)) chats.push(chat);
  const ofRun = events.map(({ at, body }): NewEvent => ({ at, runId: run.id, squadId: squad.id, body }));
  const rows = toRows({ squads: [squad], runs: [run], turns, chats, reviews, events: ofRun });
  await putRows(trx, rows);
  await backend.append(trx, rows.events);
}

/** Adds missing turns, chats and reviews of a run whose own row is intact. Returns whether there were any. */
async function fillIn(trx: Trx, { turns, chats, reviews }: RunRecord): Promise<boolean> {
  const rows = toRows({ turns, chats, reviews, events: [] });
  const results = [];
  for (const row of rows.turns)
    results.push(await trx.insertInto('turns').values(row).onConflict(ignore).executeTakeFirst());
  for (const row of rows.chats)
    results.push(await trx.insertInto('chats').values(row).onConflict(ignore).executeTakeFirst());
  for (const row of rows.reviews)
    results.push(await trx.insertInto('reviews').values(row).onConflict(ignore).executeTakeFirst());
  return results.some(({ numInsertedOrUpdatedRows }) => Number(numInsertedOrUpdatedRows) > 0);
}

const ignore = <T extends { doNothing(): R }, R>(conflict: T): R => conflict.doNothing();

/** A run that no longer has the chat must not take it from the run that has it now. */
async function mayTake(trx: Trx, { id, runId }: RunRecord['chats'][number], ofRun: RunId): Promise<boolean> {
  const chat = await trx.selectFrom('chats').select('run_id').where('id', '=', id).executeTakeFirst();
  return !chat || runId !== null || chat.run_id === null || chat.run_id === ofRun;
}

async function missingEvents(trx: Trx, runId: RunId, { events }: RunRecord): Promise<RunRecord['events']> {
  const stored = await trx
    .selectFrom('events')
    .select(['at', 'type'])
    .where('run_id', '=', runId)
    .where('type', 'in', [...RECORDED_EVENTS])
    .execute();
  const left = new Map<string, number>();
  for (const { at, type } of stored) left.set(`${at} ${type}`, (left.get(`${at} ${type}`) ?? 0) + 1);
  return events.filter(({ at, body }) => {
    const count = left.get(`${at} ${body.type}`) ?? 0;
    left.set(`${at} ${body.type}`, count - 1);
    return count <= 0;
  });
}

async function replaceSettings(
  trx: Trx,
  settings: Record<string, string>,
  hub: string | null,
): Promise<void> {
  for (const key of Object.keys(await settingsIn(trx, hub))) await putSetting(trx, storedKey(key, hub), null);
  for (const [key, value] of Object.entries(settings)) await putSetting(trx, storedKey(key, hub), value);
}

const eventOf = (restored: Restored): NewEvent => ({
  at: Date.now(),
  runId: null,
  squadId: null,
  body: { type: 'database.restored', ...restored },
});

const PARTS = ['', '-wal', '-shm', '-journal'];

interface Damage {
  why: string;
  version: string;
  mark: Mark | null;
}

/**
 * Builds a new database from the readable parts of the damaged one and the run folders, and replaces the damaged one, which is
 * renamed. If the process is killed at any point, the next start begins again or finishes the swap.
 */
export async function rebuild(path: string, source: RunSource, damage: Damage): Promise<Restored | null> {
  const building = `${path}.building`;
  const at = Math.floor(Date.now() / 1000);
  try {
    const restored = await build(path, building, source, damage, keptName(path, at));
    utimesSync(building, at, at);
    syncFile(building);
    renameSync(building, rebuiltName(path));
    finishSwap(path);
    return restored;
  } catch (thrown) {
    removeParts(building);
    throw cannotRebuild(path, damage.why, thrown);
  }
}

async function build(
  path: string,
  building: string,
  source: RunSource,
  { why, version, mark }: Damage,
  kept: string,
): Promise<Restored | null> {
  removeParts(building);
  const empty = openSqlite(building);
  await migrate(empty, building, version).finally(() => empty.close());
  // SQLite would treat an empty file as a new database and delete its -wal file.
  if (statSync(path, { throwIfNoEntry: false })?.size) salvage(path, building);
  const backend = openSqlite(building);
  try {
    const isBehind = mark !== null && (await backend.lastSequence()) < mark.seq;
    return await restoreRuns(backend, source, { mark, isBehind, since: 0, why, kept });
  } finally {
    await backend.close();
  }
}

/** Replaces the database with the rebuilt one. After a kill, continues with the steps that were not done. */
export function finishSwap(path: string): void {
  const rebuilt = rebuiltName(path);
  const at = statSync(rebuilt, { throwIfNoEntry: false })?.mtimeMs;
  if (at === undefined) return;
  const kept = keptName(path, Math.round(at / 1000));
  for (const part of PARTS) if (existsSync(path + part)) renameSync(path + part, kept + part);
  renameSync(rebuilt, path);
}

const rebuiltName = (path: string): string => `${path}.rebuilt`;

const keptName = (path: string, seconds: number): string =>
  `${path}.damaged-${new Date(seconds * 1000).toISOString().replace(/[-:]|\.\d+/g, '')}`;

function syncFile(file: string): void {
  const fd = openSync(file, 'r');
  fsyncSync(fd);
  closeSync(fd);
}

function removeParts(file: string): void {
  for (const part of PARTS) rmSync(file + part, { force: true });
}

function cannotRebuild(path: string, why: string, thrown: unknown): SquadError {
  const { error } = sqliteFailure(thrown, path);
  return new SquadError(
    error.code,
    `${why}, and it cannot be rebuilt from the run folders: ${error.message} Nothing was deleted.`,
    { cause: thrown, suggestions: error.suggestions },
  );
}
