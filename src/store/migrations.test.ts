import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { makeOldDatabase } from './fixtures/old-database.ts';
import { openForTest } from './fixtures/open-for-test.ts';
import { anIntent, aReview, aRun, aSquad, aTurn, aWorktree } from './fixtures/sample-rows.ts';
import { tempFile } from './fixtures/temp-file.ts';
import { openStore } from './open.ts';

const PINS = { workspace: '/some/workspace', server: 'files', source: 'a1' };

function rowsOfThen() {
  const squad = aSquad();
  const run = aRun(squad, {
    type: null,
    status: 'completed',
    usage: { input: 10, output: 2, cached: null, costUsd: 0.5, costIsEstimated: false },
    startedAt: 5,
    endedAt: 9,
  });
  return { squad, run, turn: aTurn(run, { endedAt: 9, exitCode: 0 }) };
}

describe.each([
  ['before there were pins', 1],
  ['before there were reviews', 2],
])('a database from %s', (_, migrations) => {
  test('keeps what is in it, its runs in their first turn', async () => {
    const file = tempFile();
    const { squad, run, turn } = rowsOfThen();
    await makeOldDatabase(file, migrations, { squad, run, turn });
    const store = await openForTest(file);
    expect(await store.squad(squad.id)).toEqual(squad);
    expect(await store.run(run.id)).toEqual({ ...run, reviewOf: null, worktree: null, turn: 1 });
    expect(await store.turns(run.id)).toEqual([turn]);
    expect(await store.runs({ hasWorktree: true, limit: 9 })).toEqual([]);
  });

  test('takes what is new, also when it is opened again', async () => {
    const file = tempFile();
    const { squad, run, turn } = rowsOfThen();
    await makeOldDatabase(file, migrations, { squad, run, turn });
    const store = await openStore({ database: file, version: '1.2.3' });
    const changed = { ...run, type: 'coding' as const, worktree: aWorktree(), turn: 2 };
    const review = aReview(run, { id: run.id });
    const reviewLimits = [{ lineageId: run.id, limit: 7 }];
    await store.commit({
      runs: [changed],
      reviews: [review],
      intents: [anIntent('one')],
      reviewLimits,
      events: [],
    });
    await store.savePins(PINS, []);
    await store.close();

    const again = await openForTest(file);
    expect(await again.run(run.id)).toEqual(changed);
    expect(await again.review(review.id)).toEqual(review);
    expect((await again.intents()).map(({ id }) => id)).toEqual(['one']);
    expect(await again.reviewLimit(run.id)).toBe(7);
    expect(await again.pins(PINS)).toEqual([]);
  });

  test('has the same tables and indexes in the end as a new one', async () => {
    const [old, fresh] = [tempFile(), tempFile()];
    await makeOldDatabase(old, migrations, rowsOfThen());
    for (const file of [old, fresh]) await (await openStore({ database: file, version: '1.2.3' })).close();
    expect(shapeOf(old)).toEqual(shapeOf(fresh));
    expect(shapeOf(fresh).length).toBeGreaterThan(20);
  });
});

function shapeOf(file: string): unknown[] {
  const handle = new BetterSqlite3(file, { readonly: true });
  const names = handle.prepare(
    `select type, name, tbl_name from sqlite_schema where name not like 'sqlite_%' order by type, name`,
  );
  const applied = handle.prepare('select name from migrations order by name');
  const shape = [...names.all(), ...applied.all()];
  handle.close();
  return shape;
}
