import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Event } from '../../../src/schema/event.ts';
import type { Run } from '../../../src/schema/run.ts';
import { amountOf, figureTimeout } from '../../faults/figures.ts';
import { isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const ROLES = { patient: 'park: 1h', short: 'park: 5s', hasty: '' };
beforeAll(async () => {
  const roles = join(squad.root, 'roles');
  squad.env.SQUAD_AGENTS_DIR = roles;
  mkdirSync(roles);
  for (const [role, keys] of Object.entries(ROLES))
    writeFileSync(join(roles, `${role}.md`), `---\n${keys}\n---\nYou work.`);
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const fenced = (script: string, turn = '') => `\`\`\`script${turn}\n${script}\n\`\`\``;
const shown = async (id: string) => squad.shown<{ run: Run; result: { result: string; note?: string } }>(id);
const events = async (id: string) =>
  (await squad.json<{ events: Event[] }>(['events', '--run', id, '--limit', '1000'])).events.map(
    ({ body }) => body,
  );
async function start(...pairs: [role: string, task: string][]): Promise<string[]> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...pairs.flat()]);
  return runIds;
}
const waits = (id: string) =>
  until('it waits for the limit', async () => (await squad.statusOf(id)) === 'waiting_limit', 60_000);
async function ended(id: string): Promise<Awaited<ReturnType<typeof shown>>> {
  await squad.run(['wait', id]);
  return shown(id);
}
async function killHub(): Promise<void> {
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
}

/** The agent writes down the time of each request, and is limited by the first. */
const limited = (name: string, limit: string, turn2 = 'report whole') =>
  [
    fenced(`say half\nrun date +%s%3N >> ${name}\nlimit ${limit}`),
    fenced(`run date +%s%3N >> ${name}\n${turn2}`, ' turn 2'),
  ].join('\n');
const requests = (name: string) =>
  readFileSync(join(squad.workspace, name), 'utf8').trim().split('\n').map(Number);
const iso = (at: number) => new Date(at).toISOString();

const RUNS = amountOf(20);
test(`${RUNS} limited runs continue in their chats after the reset and not before, also across a hub kill`, {
  tags: ['G5'],
  timeout: figureTimeout(180_000),
}, async () => {
  const names = Array.from({ length: RUNS }, (_, n) => `requests-${n}`);
  // The hub is killed before the reset, and the next one starts before it and after it.
  const reset = Date.now() + (RUNS > 2 ? 60_000 : 15_000);
  const ids = await start(
    ...names.map((name): [string, string] => ['patient', limited(name, `It resets at ${iso(reset)}`)]),
  );
  for (const id of ids) await waits(id);
  await killHub();
  const chats = await Promise.all(ids.map(async id => (await shown(id)).run.chatId));
  for (const [i, id] of ids.entries()) {
    const { run, result } = await ended(id);
    expect(run).toMatchObject({ status: 'completed', turn: 2, chatId: chats[i], notes: [expect.anything()] });
    expect(result).toMatchObject({ result: 'whole', note: expect.stringContaining('Waited once') });
    const [first, second, ...more] = requests(names[i]!);
    expect(first).toBeLessThan(reset);
    expect(second).toBeGreaterThanOrEqual(reset);
    expect(more).toEqual([]);
  }
});

describe('a limited run', { tags: ['G5'] }, () => {
  test('says until when it waits, holds no slot, and can be cancelled', async () => {
    await squad.set('limits.concurrency', '1');
    const reset = Date.now() + 1_800_000;
    const [id] = await start(['patient', limited('slot', `It resets at ${iso(reset)}`)]);
    await waits(id!);
    const [other] = await start(['hasty', fenced('report other')]);
    expect((await ended(other!)).run.status).toBe('completed');
    await squad.unlimited();

    const until = reset + 1_000;
    const text = `${iso(Math.floor(until / 1_000) * 1_000).slice(0, 19)}Z`;
    const { run, result } = await shown(id!);
    expect(run.options.limit).toEqual({ until, waits: 1, since: expect.any(Number), takeovers: [] });
    expect(result.note).toContain(`waits for the usage limit of scripted until ${text}`);
    expect(await events(id!)).toContainEqual({
      ...{ type: 'run.limited', turn: 1, engine: 'scripted', until, next: null },
    });
    expect((await squad.run(['ls'])).stdout).toMatch(/limited (29m|30m)/);

    expect((await squad.run(['cancel', id!])).code).toBe(0);
    expect((await shown(id!)).run).toMatchObject({ status: 'cancelled', turn: 1 });
    expect(requests('slot')).toHaveLength(1);
  });

  test('continues at once when the next hub starts after the reset', async () => {
    const reset = Date.now() + 8_000;
    const [id] = await start(['patient', limited('late', `It resets at ${iso(reset)}`)]);
    await waits(id!);
    await killHub();
    await until('the limit is reset', () => Date.now() > reset + 1_000, 60_000);
    expect((await ended(id!)).run).toMatchObject({ status: 'completed', turn: 2 });
    expect(requests('late')).toHaveLength(2);
  });

  test('gets the messages that it missed with its next turn', async () => {
    const [id] = await start(['patient', limited('told', 'try again in 6s')]);
    await waits(id!);
    await squad.run(['tell', id!, 'Use tabs.']);
    await ended(id!);
    const prompt = readFileSync(join(squad.home, 'runs', id!, 'turn-2', 'prompt.md'), 'utf8');
    expect(prompt).toMatch(/ended at a usage limit, which is reset now[\s\S]*Use tabs\./);
  });

  test('tries again a little later if the reset is in the past', async () => {
    const again = `limit It resets at ${iso(0)}\n\`\`\`\n${fenced('report third', ' turn 3').slice(0, -4)}`;
    const [id] = await start(['patient', limited('past', `It resets at ${iso(0)}`, again)]);
    expect((await ended(id!)).run).toMatchObject({ status: 'completed', turn: 3 });
    const [first, second] = requests('past');
    expect(second! - first!).toBeGreaterThanOrEqual(2_000);
  });

  test.each([
    [
      'patient',
      'It resets at 2099-01-01T00:00:00Z',
      'It is reset at 2099-01-01T00:00:00Z, and the run may wait',
    ],
    ['short', 'Nobody knows until when.', 'does not say when it is reset, and the run may wait'],
    ['hasty', 'try again in 1s', 'try again in 1s'],
  ])('with the role %s and "%s" ends with the reason', async (role, limit, why) => {
    const [id] = await start([role, fenced(`limit ${limit}`)]);
    const { run } = await ended(id!);
    expect(run).toMatchObject({ status: 'error', turn: 1 });
    expect(run.error).toMatchObject({ code: 'ENGINE_RATE_LIMITED', message: expect.stringContaining(why) });
  });

  test('waits without a role that says so if `limits.park` does', async () => {
    await squad.set('limits.park', '5');
    const [id] = await start(['hasty', limited('setting', 'try again in 2s')]);
    expect((await ended(id!)).run).toMatchObject({ status: 'completed', turn: 2 });
    await squad.set('limits.park', '0');
  });
});
