import { type Kysely, sql } from 'kysely';
import type { ClusterReport, HubReport } from '../../schema/machines/cluster.ts';
import { LIVE } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { Answer } from './roll-call.ts';
import { SERVER_TIME } from './schema.ts';

type ListedHub = Omit<HubReport, 'answer' | 'isOwn'>;

/** All hubs that have used the database. */
export async function listHubs(db: Kysely<Tables>): Promise<ListedHub[]> {
  const { rows } = await sql<ListedHub>`
    select hubs.id, hubs.home, hubs.host, hubs.version, hubs.lease_ms as "leaseMs",
      ${sql.raw(SERVER_TIME)} - hubs.beat_at as "silentMs",
      hub_is_running(hubs.id) as "isConnected",
      coalesce(sum(live.runs) filter (where live.status <> 'queued'), 0)::int as running,
      coalesce(sum(live.runs) filter (where live.status = 'queued'), 0)::int as queued
    from hubs left join (
      select hub, status, count(*) as runs from runs where status in (${sql.join(LIVE)}) group by hub, status
    ) as live on live.hub = hubs.id
    group by hubs.id order by hubs.host, hubs.home`.execute(db);
  return rows;
}

/** A reading of the server's clock. */
interface ServerClock {
  server: string;
  /** Clock of the server minus the monotonic clock of this process. */
  offsetMs: number;
}

async function serverClock(db: Kysely<Tables>): Promise<ServerClock> {
  const before = performance.now();
  const { rows } = await sql<{ server: string; now: number }>`
    select current_setting('server_version') as server,
      ${sql.raw(SERVER_TIME)} as now`.execute(db);
  const { server, now } = rows[0]!;
  return { server, offsetMs: now - (before + performance.now()) / 2 };
}

/** Puts together what the database and the hubs say. A clock is known to half of the time that its answer took. */
export async function reportHubs(
  db: Kysely<Tables>,
  { name, own, ask }: { name: string; own: string; ask(expected: string[]): Promise<Answer[]> },
): Promise<ClusterReport> {
  await serverClock(db); // a new connection would take longer than the reading
  const { server, offsetMs } = await serverClock(db);
  const hubs = await listHubs(db);
  const answers = await ask(hubs.filter(hub => hub.isConnected).map(({ id }) => id));
  return {
    ...{ database: name, server },
    hubs: hubs.map(hub => ({ ...hub, isOwn: hub.id === own, answer: answerOf(hub.id, answers, offsetMs) })),
  };
}

function answerOf(id: string, answers: Answer[], offsetMs: number): HubReport['answer'] {
  const found = answers.find(({ hub }) => hub === id);
  if (!found) return null;
  const { facts, askedAt, heardAt } = found;
  return {
    ...facts,
    tookMs: heardAt - askedAt,
    clockAheadMs: facts.now - ((askedAt + heardAt) / 2 + offsetMs),
  };
}
