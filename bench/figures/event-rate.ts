import { rmSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import type { Store } from '../../src/core/ports/store.ts';
import type { NewEvent } from '../../src/schema/event.ts';
import { openStore } from '../../src/store/open.ts';
import { type Figure, paired } from '../figure.ts';
import { interleave, timed } from '../measure.ts';
import { finishedRun } from '../sample-runs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const WRITERS = 50;
const EVENTS = 10_000;
const RUNS = 1_000;
const EVENTS_A_RUN = 4;

/** Write rate of the store when many callers write at once and each waits until its change is on disk. */
export const eventRate: Figure = {
  name: 'event-rate',
  title: `Events written a second, ${WRITERS} writers each waiting for its own`,
  async measure() {
    const folder = temporaryFolder();
    const store = await openStore({ database: join(folder, 'squad.db'), version: 'bench' });
    const bare = bareDatabase(join(folder, 'bare.db'));
    const floor = async () => rate(EVENTS, await timed(async () => bare.write(EVENTS)));
    try {
      const events = await interleave(() => eventsOnly(store), floor);
      const whole = await interleave(() => wholeRuns(store), floor);
      return [
        paired('events alone, against bare SQLite', 'events/s', events, {
          note: `the floor is the same insert by hand, ${WRITERS} to a transaction`,
        }),
        paired('events of whole runs, with their rows', 'events/s', whole, {
          note: `${EVENTS_A_RUN} events a run, and a squad, a run and a turn rewritten beside them; same floor`,
        }),
      ];
    } finally {
      bare.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function eventsOnly(store: Store): Promise<number> {
  const each = EVENTS / WRITERS;
  return rate(
    EVENTS,
    await together(async () => {
      for (let i = 0; i < each; i++) await store.commit({ events: [event()] });
    }),
  );
}

async function wholeRuns(store: Store): Promise<number> {
  const runs = Array.from({ length: RUNS }, () => finishedRun('/workspace'));
  return rate(
    RUNS * EVENTS_A_RUN,
    await together(async () => {
      for (let changes = runs.pop(); changes; changes = runs.pop())
        for (const change of changes) await store.commit(change);
    }),
  );
}

const together = (writer: () => Promise<void>): Promise<number> =>
  timed(() => Promise.all(Array.from({ length: WRITERS }, writer)));

const event = (): NewEvent => ({
  at: Date.now(),
  runId: null,
  squadId: null,
  body: { type: 'tool.called', tool: 'get_result', client: 'bench 1', ok: true, code: null, durationMs: 12 },
});

function bareDatabase(file: string) {
  const handle = new BetterSqlite3(file);
  handle.pragma('journal_mode = WAL');
  handle.pragma('synchronous = NORMAL');
  handle.exec(
    'create table events (seq integer primary key autoincrement, at bigint, run_id text, squad_id text, type text, data text)',
  );
  const insert = handle.prepare(
    'insert into events (at, run_id, squad_id, type, data) values (?, ?, ?, ?, ?)',
  );
  const some = handle.transaction(() => {
    for (let i = 0; i < WRITERS; i++) {
      const { at, body } = event();
      insert.run(at, null, null, body.type, JSON.stringify(body));
    }
  });
  return {
    write: (events: number) => {
      for (let i = 0; i < events; i += WRITERS) some();
    },
    close: () => handle.close(),
  };
}

const rate = (events: number, ms: number): number => events / (ms / 1000);
