import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { HubLeases, HubState, TakenOver } from '../../core/ports/store.ts';
import type { RunId } from '../../schema/ids.ts';
import { LIVE } from '../queries.ts';
import type { Tables } from '../tables.ts';
import { type HubLock, holdsLock, Superseded } from './hub-lock.ts';
import { hubLock, SERVER_TIME } from './schema.ts';

const NOW = sql.raw<number>(SERVER_TIME);

/** How long a takeover waits until the server has ended the session of the other hub. */
const SESSION_END_MS = 2_000;
const POLL_MS = 20;

interface Parts {
  reads: Kysely<Tables>;
  writes: Kysely<Tables>;
  lock: HubLock;
  hub: string;
  /** Repeats a query until the connection is there again. */
  whenConnected<T>(query: () => Promise<T>): Promise<T>;
}

export function hubLeases({ reads, writes, lock, hub: own, whenConnected }: Parts): HubLeases {
  async function beat(leaseMs: number | null): Promise<boolean> {
    try {
      const { rows } = await sql`
        update hubs set beat_at = ${NOW}, clock_ahead_ms = ${Date.now()} - ${NOW}, lease_ms = ${leaseMs}
        where id = ${own} and attempt = ${lock.attempt} returning id`.execute(writes);
      return rows.length > 0;
    } catch (thrown) {
      if (thrown instanceof Superseded) return false;
      throw thrown;
    }
  }

  async function hubs(): Promise<HubState[]> {
    const { rows } = await sql<HubState>`
      select id, home, host, attempt, version, lease_ms as "leaseMs", clock_ahead_ms as "clockAheadMs",
        ${NOW} - beat_at as "silentMs", id = ${own} as "isOwn"
      from hubs order by home, id`.execute(reads);
    return rows;
  }

  async function takeOver(hub: string, of: { silentMs: number; all: boolean }): Promise<TakenOver | null> {
    let taken = null as TakenOver | null;
    try {
      return await writes.transaction().execute(async trx => {
        taken = await takeIn(trx, hub, of);
        return taken;
      });
    } catch (thrown) {
      // If the connection was lost during the commit, only the database knows whether this hub has the runs now.
      const [run] = taken?.runs ?? [];
      if (run && (await isOwn(run))) return taken;
      throw thrown;
    }
  }

  async function takeIn(
    trx: Transaction<Tables>,
    hub: string,
    { silentMs, all }: { silentMs: number; all: boolean },
  ): Promise<TakenOver | null> {
    // The row is locked until the commit, so only one hub takes over, and the other hub cannot renew its lease.
    const { rows } = await sql`select 1 from hubs where id = ${hub} and id <> ${own} and lease_ms is not null
      and beat_at < ${NOW} - ${silentMs} for update skip locked`.execute(trx);
    if (rows.length === 0) return null;
    if ((await runsToTake(trx, hub, all)).length === 0) return { runs: [], intents: [] };
    await endSession(hub);
    // With its lock, the other hub certainly has no session that could still write.
    if (!(await isLocked(trx, hub))) return null;
    // Until now the other hub could still end runs and store new ones.
    const runs = await runsToTake(trx, hub, all);
    if (runs.length === 0) return { runs, intents: [] };
    await sql`update hubs set attempt = attempt + 1 where id = ${hub}`.execute(trx);
    // The triggers let this transaction change rows of the other hub.
    await sql`select set_config('squad.hub', ${hub}, true)`.execute(trx);
    await moveRows(trx, runs, { from: hub, to: own });
    if (!all) return { runs, intents: [] };
    const intents = await sql<{ id: string }>`
      update intents set hub = ${own} where hub = ${hub} returning id`.execute(trx);
    return { runs, intents: intents.rows.map(({ id }) => id) };
  }

  const isOwn = (run: RunId): Promise<boolean> =>
    whenConnected(async () => {
      const { rows } = await sql`select 1 from runs where id = ${run} and hub = ${own}`.execute(writes);
      return rows.length > 0;
    });

  /** Ends the session that holds the lock of the hub. Only the same user of the database may do that. */
  async function endSession(hub: string): Promise<void> {
    await sql`select pg_terminate_backend(l.pid) from hubs, pg_locks l
      where hubs.id = ${hub} and ${sql.raw(holdsLock('l', hubLock('hubs.id')))}`
      .execute(reads)
      .catch(() => {}); // without the right to do that, the hub tries again until the session ends by itself
  }

  return {
    beat,
    hubs,
    takeOver,
    giveBack: (runs, hub) =>
      writes.transaction().execute(trx => moveRows(trx, [...runs], { from: own, to: hub })),
  };
}

/** Runs that a takeover moves. Runs on other machines do not depend on the lease of their hub. */
async function runsToTake(trx: Transaction<Tables>, hub: string, all: boolean): Promise<RunId[]> {
  const { rows } = await sql<{ id: RunId }>`
    select id from runs where hub = ${hub} and status = any(${LIVE}) and (options::json ->> 'machine') is null
      and (${all} or status = 'running'
        or exists (select 1 from turns where run_id = runs.id and ended_at is null))`.execute(trx);
  return rows.map(({ id }) => id);
}

async function isLocked(trx: Transaction<Tables>, hub: string): Promise<boolean> {
  const giveUpAt = performance.now() + SESSION_END_MS;
  for (;;) {
    const { rows } = await sql<{ taken: boolean }>`
      select pg_try_advisory_xact_lock(${sql.raw(hubLock('hubs.id'))}) as taken from hubs where id = ${hub}`.execute(
      trx,
    );
    if (rows[0]?.taken) return true;
    if (performance.now() > giveUpAt) return false;
    await pause(POLL_MS);
  }
}

/** Makes another hub the owner of these runs and of everything that belongs to them. */
async function moveRows(
  trx: Transaction<Tables>,
  runs: RunId[],
  { from, to }: { from: string; to: string },
): Promise<void> {
  const move = (table: string, ofRuns: RawBuilder<unknown>) =>
    sql`update ${sql.table(table)} set hub = ${to} where hub = ${from} and ${ofRuns}`.execute(trx);
  await move(
    'chats',
    sql`(run_id = any(${runs}) or id in (select chat_id from runs where id = any(${runs})))`,
  );
  await move('runs', sql`id = any(${runs})`);
  await move('turns', sql`run_id = any(${runs})`);
  await move('inbox', sql`run_id = any(${runs})`);
  await move('reviews', sql`(coder_id = any(${runs}) or reviewer_id = any(${runs}))`);
}
