import { describe, expect, test } from 'vitest';
import type { Pin, PinKey } from '../core/ports/gateway.ts';
import { openForTest } from './fixtures/open-for-test.ts';
import { aRun, aSquad, started } from './fixtures/sample-rows.ts';
import { tempDatabase } from './fixtures/temp-database.ts';
import { openStore } from './open.ts';

const KEY: PinKey = { workspace: '/some/workspace', server: 'files', source: 'a1' };
const pin = (name: string, some: Partial<Pin> = {}): Pin => ({
  name,
  hash: `hash of ${name}`,
  definition: { name, description: 'Lies about — "quotes"\n and 😀', inputSchema: { type: 'object' } },
  state: 'approved',
  seenAt: 1_700_000_000_000,
  ...some,
});

describe('pins of a server', () => {
  test('that was never listed are null, of one without tools an empty list, also after reopening', async () => {
    const file = await tempDatabase();
    const store = await openStore({ database: file, version: '1.2.3' });
    expect(await store.pins(KEY)).toBeNull();
    await store.savePins(KEY, []);
    expect(await store.pins(KEY)).toEqual([]);
    await store.close();
    expect(await (await openForTest(file)).pins(KEY)).toEqual([]);
  });

  test('come back as they were, by name, an approved one beside the one that waits', async () => {
    const file = await tempDatabase();
    const store = await openStore({ database: file, version: '1.2.3' });
    const changed = pin('read', { hash: 'new', state: 'pending', seenAt: 1_700_000_000_001 });
    await store.savePins(KEY, [changed, pin('write'), pin('read')]);
    await store.close();
    expect(await (await openForTest(file)).pins(KEY)).toEqual([pin('read'), changed, pin('write')]);
  });

  test('are replaced as a whole', async () => {
    const store = await openForTest(await tempDatabase());
    await store.savePins(KEY, [pin('read'), pin('write')]);
    await store.savePins(KEY, [pin('read', { hash: 'other' }), pin('list')]);
    expect(await store.pins(KEY)).toEqual([pin('list'), pin('read', { hash: 'other' })]);
    await store.savePins(KEY, []);
    expect(await store.pins(KEY)).toEqual([]);
  });

  test('are those of one workspace, one server and one way to start it', async () => {
    const store = await openForTest(await tempDatabase());
    const others: PinKey[] = [
      { ...KEY, workspace: '/elsewhere' },
      { ...KEY, server: 'other' },
      { ...KEY, source: 'b2' },
    ];
    await store.savePins(KEY, [pin('read')]);
    for (const other of others) expect(await store.pins(other)).toBeNull();
    for (const other of others) await store.savePins(other, []);
    expect(await store.pins(KEY)).toEqual([pin('read')]);
  });

  test('that cannot all be kept leave what was there, and the writes beside them go on', async () => {
    const store = await openForTest(await tempDatabase());
    await store.savePins(KEY, [pin('read')]);
    const run = aRun(aSquad());
    const twice = store.savePins(KEY, [pin('list'), pin('write'), pin('write')]);
    const beside = store.commit({ events: [started(run)] });
    await expect(twice).rejects.toMatchObject({ code: 'DATABASE_FAILED' });
    await beside;
    expect(await store.pins(KEY)).toEqual([pin('read')]);
    expect(await store.events({ limit: 9 })).toHaveLength(1);
  });

  test('are kept as they were when they were given, and a definition that is no JSON is refused', async () => {
    const store = await openForTest(await tempDatabase());
    const [given, key] = [[pin('read')], { ...KEY }];
    const saved = store.savePins(key, given);
    given[0]!.hash = 'changed since';
    key.server = 'changed since';
    await saved;
    expect(await store.pins(KEY)).toEqual([pin('read')]);
    const circle: Record<string, unknown> & { name: string } = { name: 'circle' };
    circle.self = circle;
    await expect(store.savePins(KEY, [pin('circle', { definition: circle })])).rejects.toThrow();
  });
});
