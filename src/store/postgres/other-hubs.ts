import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { HubCallRows, OtherHub } from '../../core/ports/store.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Failure } from '../backend.ts';
import type { Tables } from '../tables.ts';
import { CHANNEL } from './schema.ts';

/** How long a request may wait for its hub to take it, by the clock of the database. */
const TAKE_WITHIN = sql.raw(`interval '5 seconds'`);
/** Time without a sign of the other hub after which it counts as hanging. Longer than several of its signs apart. */
const SILENT_AFTER = sql.raw(`interval '20 seconds'`);
/** Age after which a request of a hub that is gone is deleted by any hub. */
const LEFT_AFTER = sql.raw(`interval '1 day'`);

/** Requests of this hub to others and of others to this one, on the session that holds the lock of this hub. */
export function hubCallRows(
  writes: Kysely<Tables>,
  hub: string,
  failureOf: (thrown: unknown) => Failure,
): HubCallRows {
  async function rowsOf<Row>(query: RawBuilder<Row>): Promise<Row[]> {
    try {
      return (await query.execute(writes)).rows;
    } catch (thrown) {
      throw failureOf(thrown).error;
    }
  }

  const notify = (to: string) => sql.raw(`pg_notify(${CHANNEL}, 'calls ' || ${to})`);
  return {
    reset: async () => {
      await rowsOf(
        sql`delete from hub_calls where from_hub = ${hub} or (to_hub = ${hub} and seen_at is not null)
          or (at < clock_timestamp() - ${LEFT_AFTER} and not hub_is_running(from_hub))`,
      );
    },
    send: async ({ id, to, request }) => {
      await rowsOf(sql`with call as (
          insert into hub_calls (id, to_hub, request) values (${id}, ${to}, ${request}) returning to_hub)
        select ${notify('to_hub')} from call`);
    },
    take: () =>
      rowsOf(sql<{ id: string; request: string }>`update hub_calls set seen_at = clock_timestamp()
        where to_hub = ${hub} and seen_at is null and at > clock_timestamp() - ${TAKE_WITHIN}
        returning id, request`),
    stillWanted: async ids => {
      const rows = await rowsOf(sql<{ id: string }>`update hub_calls set seen_at = clock_timestamp()
        where id = any(${ids}::text[]) and to_hub = ${hub} and hub_is_running(from_hub) returning id`);
      return new Set(rows.map(({ id }) => id));
    },
    answer: async (id, answer) => {
      await rowsOf(sql`with asked as (select id, from_hub from hub_calls where id = ${id} and to_hub = ${hub}),
        answer as (insert into hub_answers (call_id, answer) select id, ${answer} from asked returning call_id)
        select ${notify('from_hub')} from asked where id in (select call_id from answer)`);
    },
    answers: () =>
      rowsOf(sql<{ id: string; answer: string }>`with read as (
          delete from hub_answers a using hub_calls c where c.id = a.call_id and c.from_hub = ${hub}
          returning a.call_id as id, a.place, a.answer)
        select id, answer from read order by place`),
    states: async ids => {
      const rows = await rowsOf(sql<{ id: string; isTaken: boolean; isLost: boolean }>`
        select id, seen_at is not null as "isTaken",
          seen_at is not null and (seen_at < clock_timestamp() - ${SILENT_AFTER} or not hub_is_running(to_hub))
            as "isLost"
        from hub_calls where id = any(${ids}::text[]) and from_hub = ${hub}`);
      const known = new Map(rows.map(row => [row.id, row]));
      return new Map(
        ids.map(id => {
          const row = known.get(id);
          return [id, row === undefined || row.isLost ? 'lost' : row.isTaken ? 'taken' : 'waiting'];
        }),
      );
    },
    withdraw: async id => {
      const rows = await rowsOf(sql`delete from hub_calls
        where id = ${id} and from_hub = ${hub} and seen_at is null returning id`);
      return rows.length > 0;
    },
    end: async (id, isAnswered) => {
      await rowsOf(sql`with gone as (
          delete from hub_calls where id = ${id} and from_hub = ${hub} returning to_hub)
        select ${notify('to_hub')} from gone where not ${isAnswered}::boolean`);
    },
  };
}

/** The hub of each run, if the database has several hubs. */
export async function hubsOf(db: Kysely<Tables>, ids: readonly RunId[]): Promise<Map<RunId, string>> {
  type Hub = Pick<OtherHub, 'id' | 'home' | 'host'>;
  const { rows: hubs } = await sql<Hub>`select id, home, host from hubs`.execute(db);
  if (hubs.length < 2) return new Map();
  const { rows } = await sql<{ id: RunId; hub: string }>`
    select id, hub from runs where id = any(${ids}::text[])`.execute(db);
  return new Map(
    rows.flatMap(({ id, hub }) => {
      const found = hubs.find(each => each.id === hub);
      return found ? [[id, hubName(found, hubs)] as const] : [];
    }),
  );
}

/** The host of a hub, with its home if several hubs have the same host. */
export const hubName = (
  { host, home }: Pick<OtherHub, 'host' | 'home'>,
  hubs: readonly Pick<OtherHub, 'host'>[],
): string => (hubs.filter(each => each.host === host).length > 1 ? `${host}:${home}` : host);
