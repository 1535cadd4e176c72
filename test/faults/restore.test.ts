import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { FaultHome } from './fault-home.ts';
import { until } from './patience.ts';
import { createRandom, type Random } from './random.ts';
import { ask, endOf, eventsOf, newHome, openHome, sideOf, started } from './scenario.ts';

const WAIT_TIMEOUT_MS = 60_000;

interface Listed {
  id: string;
  status: string;
  roleId: string;
}

const databaseOf = (home: FaultHome): string => join(home.home, 'squad.db');

/** Damage may show only when the page is read: the hub that finds it ends, and the next one rebuilds. */
async function list(home: FaultHome): Promise<{ runs: Listed[]; stderr: string }> {
  let said = '';
  for (let tries = 0; ; tries++) {
    const { code, stdout, stderr } = await home.squad('ls', '--all', '--json');
    said += stderr;
    expect(stderr + stdout).not.toMatch(/\n\s+at /);
    const answer = JSON.parse(stdout);
    if (code === 0) return { runs: answer.runs, stderr: said };
    expect(['DATABASE_CORRUPT', 'HUB_RESTARTED']).toContain(answer.error.code);
    if (tries === 3) throw new Error(`Still damaged: ${stdout}`);
  }
}

/** One run that ended, one that runs until it is let go, one that waits for its place; no hub. */
async function threeRuns(home: FaultHome): Promise<[string, string, string]> {
  await home.set('limits.concurrency', 1);
  const [early] = await ask(home, [['plain', 'early lines 2 0 0']]);
  await endOf(home, early!);
  await home.squad('hub', 'stop');
  cpSync(databaseOf(home), join(home.root, 'older.db'));
  const [done] = await ask(home, [['plain', 'done lines 2 0 3']]);
  await endOf(home, done!);
  const [held, later] = await ask(home, [
    ['plain', 'held held 2 0 0'],
    ['plain', 'later lines 2 0 0'],
  ]);
  await started(home, 'held');
  await until('its start on record', async () =>
    (await eventsOf(home, held)).some(({ body }) => body.type === 'run.started'),
  );
  await home.killHub();
  return [done!, held!, later!];
}

async function expectAll(home: FaultHome, [done, held, later]: [string, string, string]): Promise<void> {
  const { runs, stderr } = await list(home);
  expect(stderr).toMatch(/The database \S+ was (damaged|missing|older)/);
  const byId = new Map(runs.map(run => [run.id, run]));
  expect(byId.get(done)).toMatchObject({ status: 'error', roleId: 'plain' });
  expect(byId.get(held)).toMatchObject({ status: 'running', roleId: 'plain' });
  expect(byId.get(later)).toMatchObject({ status: 'queued' });
  expect(runs).toHaveLength(4);
  // The warning is printed once.
  expect((await list(home)).stderr).toBe('');
  writeFileSync(join(home.side, 'held.go'), '');
  expect(await endOf(home, held)).toMatchObject({ run: { status: 'completed' }, turns: [{ exitCode: 0 }] });
  expect(await endOf(home, later)).toMatchObject({ run: { status: 'completed' }, turns: [{ exitCode: 0 }] });
  const shown = await endOf(home, done);
  expect(shown).toMatchObject({ run: { status: 'error' }, turns: [{ exitCode: 3 }] });
  for (const tag of ['early', 'done', 'held', 'later'])
    expect(sideOf(home, tag).filter(line => line.startsWith('start'))).toHaveLength(1);
  for (const id of [done, held, later]) {
    const types = (await eventsOf(home, id)).map(({ body }) => body.type);
    expect(types.toSorted()).toEqual(['run.ended', 'run.queued', 'run.started']);
  }
  expect((await eventsOf(home)).filter(({ body }) => body.type === 'database.restored')).toHaveLength(1);
}

const remove = (home: FaultHome, ...parts: string[]) => {
  for (const part of parts) rmSync(databaseOf(home) + part);
};
const overwrite = (file: string, at: number, bytes: Buffer) => {
  const fd = openSync(file, 'r+');
  writeSync(fd, bytes, 0, bytes.length, at);
  closeSync(fd);
};
const garbage = (length: number) => Buffer.alloc(length, 0xa5);

const DAMAGES: Record<string, (home: FaultHome) => void> = {
  'its -wal file is gone': home => remove(home, '-wal', '-shm'),
  'all its files are gone': home => remove(home, '', '-wal', '-shm'),
  'an older copy is in its place': home => {
    remove(home, '-wal', '-shm');
    cpSync(join(home.root, 'older.db'), databaseOf(home));
  },
  'the page of its runs is garbage': home => {
    const page = pageOf(home, 'runs');
    overwrite(databaseOf(home), page, garbage(4096));
  },
};

describe('a database of which, after a kill,', () => {
  test.each(Object.entries(DAMAGES))(
    '%s: every run is there, none runs twice',
    { tags: ['D10'], timeout: 2 * WAIT_TIMEOUT_MS },
    async (_, damage) => {
      const home = await openHome();
      const ids = await threeRuns(home);
      damage(home);
      await expectAll(home, ids);
    },
  );
});

test(
  'a damaged database is moved aside as it was, and the web UI, doctor and the event log say so',
  async () => {
    const home = await openHome();
    const [id] = await ask(home, [['plain', 'one lines 2 0 0']]);
    await endOf(home, id!);
    await home.squad('hub', 'stop');
    overwrite(databaseOf(home), 0, garbage(512));
    const before = readFileSync(databaseOf(home));

    const mcp = home.mcp();
    await mcp.initialize();
    mcp.close();
    const [kept] = readdirSync(home.home).filter(name => /^squad\.db\.damaged-\d{8}T\d{6}Z$/.test(name));
    expect(readFileSync(join(home.home, kept!)).equals(before)).toBe(true);
    const { runs } = await list(home);
    expect(runs).toMatchObject([{ id, status: 'completed' }]);
    const { stdout: doctor } = await home.squad('doctor', '--json');
    const check = JSON.parse(doctor).checks.find(({ name }: { name: string }) => name === 'database');
    expect(check).toMatchObject({ state: 'warning', detail: expect.stringContaining(kept!) });
    const [event] = (await eventsOf(home)).filter(({ body }) => body.type === 'database.restored');
    expect(event!.body).toMatchObject({ restored: 1, kept: join(home.home, kept!) });
    expect((await endOf(home, id!)).run.notes.join()).toContain('Restored from its folder');
  },
  WAIT_TIMEOUT_MS,
);

test(
  'a record that cannot be read: its run is listed, its agent is watched, and it is not started again',
  async () => {
    const home = await openHome();
    const [done, held, later] = await threeRuns(home);
    remove(home, '', '-wal', '-shm');
    for (const id of [done, held, later]) truncateSync(join(home.home, 'runs', id, 'run.json'), 20);
    const { runs } = await list(home);
    const statuses = new Map(runs.map(run => [run.id, run.status]));
    expect([done, held, later].map(id => statuses.get(id))).toEqual(['lost', 'running', 'lost']);
    writeFileSync(join(home.side, 'held.go'), '');
    expect(await endOf(home, held)).toMatchObject({ run: { status: 'completed' } });
    expect(sideOf(home, 'held').filter(line => line.startsWith('start'))).toHaveLength(1);
    expect(sideOf(home, 'later')).toEqual([]);
  },
  WAIT_TIMEOUT_MS,
);

test('a hub that is killed again and again while it rebuilds: all is there in the end', {
  tags: ['D10', 'S9'],
  timeout: 2 * WAIT_TIMEOUT_MS,
}, async () => {
  const home = await openHome();
  const ids = await threeRuns(home);
  moveLogIn(home);
  overwrite(databaseOf(home), 0, garbage(512));
  for (let delay = 0; delay < 4; delay++) {
    const starting = home.squad('hub', 'status').then(() => home.squad('hub', 'start'));
    const hub = await until('a hub', () => home.hubPids()[0]);
    const giveUpAt = performance.now() + delay * 30;
    while (performance.now() < giveUpAt) await new Promise(setImmediate);
    process.kill(hub, 'SIGKILL');
    await starting;
    await home.killHub();
  }
  const { runs } = await list(home);
  expect(new Set(runs.map(run => run.id)).size).toBe(4);
  writeFileSync(join(home.side, 'held.go'), '');
  for (const id of ids.slice(1))
    expect(await endOf(home, id)).toMatchObject({ run: { status: 'completed' } });
  for (const tag of ['done', 'held', 'later'])
    expect(sideOf(home, tag).filter(line => line.startsWith('start'))).toHaveLength(1);
  expect(readdirSync(home.home).filter(name => /building|rebuilt/.test(name))).toEqual([]);
});

test('a disk that is full while the database is rebuilt: refused, nothing lost, and done once there is room', {
  tags: ['D10'],
  timeout: WAIT_TIMEOUT_MS,
}, async () => {
  const home = newHome();
  const [id] = await ask(home, [['plain', 'one lines 2 0 0']]);
  await endOf(home, id!);
  await home.squad('hub', 'stop');
  overwrite(databaseOf(home), 0, garbage(512));
  const small = join(home.root, 'small');
  mkdirSync(small);
  const script = `
    mount -t tmpfs -o size=1m tmpfs "$1" && cp "$2" "$1/squad.db" && export MCP_DATABASE_PATH="$1/squad.db"
    dd if=/dev/zero of="$1/filler" bs=4096 2>/dev/null
    shift 2
    "$@"; echo "code $?"
    cmp "$MCP_DATABASE_PATH" ${databaseOf(home)} && echo same
    ls "\${MCP_DATABASE_PATH%/*}"
    rm "\${MCP_DATABASE_PATH%/*}/filler"
    "$@"; echo "code $?"`;
  const by = ['unshare', '-m', 'sh', '-c', script, 'sh', small, databaseOf(home)];
  const { stdout } = await home.squadThrough(by, 'ls', '--all', '--json');
  const [refused, after] = stdout.split('code 1\n') as [string, string];
  expect(JSON.parse(refused)).toMatchObject({
    error: {
      code: 'DISK_FULL',
      message: expect.stringMatching(/damaged.*cannot be rebuilt.*Nothing was deleted/s),
    },
  });
  const [same, files, ...rest] = after.split('\n');
  expect([same, files]).toEqual(['same', 'filler']);
  expect(rest.join('\n')).toContain(id);
  expect(rest.join('\n')).toContain('code 0');
});

test('whatever is damaged, in whatever order: every run with a folder is listed, and none runs twice', {
  tags: ['D10', 'S9'],
  timeout: 4 * WAIT_TIMEOUT_MS,
}, async () => {
  const home = await openHome();
  const random = createRandom(20_261_116);
  const ids: string[] = [];
  for (let round = 0; round < 6; round++) {
    const tags = [`a${round}`, `b${round}`];
    ids.push(
      ...(await ask(
        home,
        tags.map(tag => ['plain', `${tag} lines 3 0.02 0`]),
      )),
    );
    if (random.chance(0.5)) await endOf(home, ids.at(-1)!);
    if (random.chance(0.3)) await home.squad('hub', 'stop');
    else await home.killHub();
    const what = damageSomething(home, random);
    const { runs } = await list(home);
    const listed = new Set(runs.map(run => run.id));
    expect(
      ids.filter(id => !listed.has(id)),
      `round ${round}: ${what}`,
    ).toEqual([]);
    for (const id of ids) expect(await endOf(home, id), what).toMatchObject({ run: { status: 'completed' } });
    for (const tag of tags)
      expect(
        sideOf(home, tag).filter(line => line.startsWith('start')),
        what,
      ).toHaveLength(1);
  }
});

/** Whole pages, lengths and files: bytes changed within a value are beyond what SQLite can see. */
function damageSomething(home: FaultHome, random: Random): string {
  const part = random.pick(['', '-wal'].filter(name => existsSync(databaseOf(home) + name)));
  const file = databaseOf(home) + part;
  const { size } = statSync(file);
  const kind = random.pick(['remove', 'cut', 'garbage', 'flip', 'zero']);
  const page = 4096 * random.between(0, Math.max(0, Math.floor(size / 4096) - 1));
  if (kind === 'remove') rmSync(file);
  if (kind === 'cut') truncateSync(file, random.between(0, size));
  if (kind === 'garbage') overwrite(file, page, garbage(4096));
  if (kind === 'zero') overwrite(file, page, Buffer.alloc(4096));
  if (kind === 'flip') overwrite(file, page, Buffer.from([readFileSync(file)[page]! ^ 0xff]));
  return `${kind} at ${page} of ${size} in squad.db${part}`;
}

function moveLogIn(home: FaultHome): void {
  const handle = new BetterSqlite3(databaseOf(home));
  handle.pragma('wal_checkpoint(truncate)');
  handle.close();
}

/** Where the first page of a table begins in the file, once everything is in the file. */
function pageOf(home: FaultHome, table: string): number {
  moveLogIn(home);
  const handle = new BetterSqlite3(databaseOf(home), { readonly: true });
  const root = handle.prepare<[string], number>('select rootpage from sqlite_schema where name = ?').pluck();
  const page = root.get(table) as number;
  handle.close();
  return (page - 1) * 4096;
}
