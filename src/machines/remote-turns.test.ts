import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { FoundTurn, TurnEnd, TurnStart } from '../core/ports/turns.ts';
import { until } from '../process/testing/turn-fixture.ts';
import { RunId } from '../schema/ids.ts';
import { Link } from './link.ts';
import { RemoteTurns } from './remote-turns.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-remote-'));
const boxHome = join(root, 'box');
const folders = { runs: join(root, 'runs'), chats: join(root, 'chats'), worktrees: join(root, 'worktrees') };
const links: Link[] = [];
mkdirSync(boxHome);
afterAll(() => {
  for (const link of links) link.close('removed');
  rmSync(root, { recursive: true, force: true });
});

const RUNNER = `${process.execPath} ${join(import.meta.dirname, '../bin/runner.ts')} h_1`;
/** Takes requests and answers none. */
const DEAF = `${RUNNER} </dev/null | head -n 1; exec cat >/dev/null`;
/** Carries requests out, but no answer arrives. */
const MUTE = `${RUNNER} | { head -n 1; exec cat >/dev/null; }`;

/** A hub with one machine, which runs this script. */
function hub(script: string) {
  const link = new Link({
    argv: ['/bin/sh', '-c', `read -r ignored; ${script}`],
    ...{ env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: boxHome }, cwd: '/' },
    ...{ script: 'ignored\n', program: Buffer.alloc(0) },
    ...{ onHello: () => {}, onCall: () => {}, onState: () => {} },
  });
  links.push(link);
  const turns = new RemoteTurns({
    ...{ link: () => link, folders, node: process.execPath, scriptedAgent: '/none' },
    ...{ leaseMs: () => 60_000, maxOutput: () => 1e6, warn: () => {} },
  });
  return { turns, link, dies: () => link.close('stopped') };
}

function turnOf(id: string): TurnStart & { machine: string } {
  const runId = RunId.parse(id);
  mkdirSync(join(folders.runs, runId, 'turn-1'), { recursive: true });
  return {
    ...{ runId, number: 1, machine: 'box', sandbox: null, hardLimitMs: 60_000, cwd: boxHome },
    command: { argv: ['/bin/sh', '-c', `echo ran; echo ran >>${runId}`], stdin: null, env: {} },
    chatFolder: join(folders.chats, runId),
  };
}
const fileOf = (turn: TurnStart, name: string) => join(folders.runs, turn.runId, 'turn-1', name);
const OPTIONS = { keepLeftovers: false };

/** A machine that is slow to answer counts as live. */
async function endOf(found: FoundTurn): Promise<Pick<TurnEnd, 'exitCode'>> {
  if (found.state === 'live') return found.turn.ended;
  return found.state === 'never_started' ? { exitCode: null } : found.end;
}

/** The hub dies before its request to start the turn is answered. */
async function diesStarting(turn: ReturnType<typeof turnOf>, script: string): Promise<void> {
  const first = hub(script);
  expect(await first.link.firstAttempt()).toBeNull();
  void first.turns.start(turn, OPTIONS);
  await until(() => existsSync(fileOf(turn, 'asked')), 'it is asked');
  if (script === MUTE) await until(() => existsSync(join(boxHome, turn.runId)), 'the agent runs');
  first.dies();
}

test.each([
  ['never got', DEAF, 'run_neverget01'],
  ['got, and answered in vain', MUTE, 'run_answered01'],
])(
  'a start that the machine %s before the hub died: the next hub has its agent, once',
  {
    tags: ['H2'],
  },
  async (_, script, id) => {
    const turn = turnOf(id);
    await diesStarting(turn, script);
    const { turns } = hub(`exec ${RUNNER}`);
    const found = await turns.find(turn, { ...OPTIONS, startsAgain: true });
    expect(await endOf(found)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(fileOf(turn, 'stdout'), 'utf8')).toBe('ran\n');
    expect(readFileSync(join(boxHome, id), 'utf8')).toBe('ran\n');
    expect(existsSync(fileOf(turn, 'request.json'))).toBe(false);
  },
);

test('a start that the machine never got is not sent by the next hub if the run was asked to stop', {
  tags: ['H2'],
}, async () => {
  const turn = turnOf('run_stopped001');
  await diesStarting(turn, DEAF);
  const { turns, link } = hub(`exec ${RUNNER}`);
  expect(await link.firstAttempt()).toBeNull();
  expect(await endOf(await turns.find(turn, OPTIONS))).toMatchObject({ exitCode: null });
  expect(existsSync(join(boxHome, turn.runId))).toBe(false);
});

test('a turn whose folder is gone on its machine after it started there is lost, and not started again', {
  tags: ['H2'],
}, async () => {
  const turn = turnOf('run_removed001');
  const first = hub(`exec ${RUNNER}`);
  await (await first.turns.start(turn, OPTIONS)).ended;
  first.dies();
  rmSync(join(boxHome, '.squad-runner', 'hubs', 'h_1', 'runs'), { recursive: true });
  const { turns, link } = hub(`exec ${RUNNER}`);
  expect(await link.firstAttempt()).toBeNull();
  const found = await turns.find(turn, { ...OPTIONS, startsAgain: true });
  expect(found).not.toMatchObject({ state: 'never_started' });
  expect(await endOf(found)).toMatchObject({ exitCode: null, lost: expect.stringContaining('no record') });
  expect(readFileSync(join(boxHome, turn.runId), 'utf8')).toBe('ran\n');
});

test('a start that the machine refused before the hub died is no start', { tags: ['H2'] }, async () => {
  const turn = { ...turnOf('run_refused001'), cwd: join(boxHome, 'no-such-folder') };
  const first = hub(`exec ${RUNNER}`);
  await expect(first.turns.start(turn, OPTIONS)).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
  expect(await first.turns.hasBegun(turn)).toBe(false);
  expect(await first.turns.find(turn, OPTIONS)).toEqual({ state: 'never_started' });
});

/** A box whose runner answers each request with what `answers` says, as a JavaScript expression of the request. */
const FAKE = (answers: string, now = 'Date.now()') => `exec ${process.execPath} -e '
  const hello = { squad: "runner", protocol: 1, machine: "m_1", base: "/b", node: "/n", programs: "/p", os: "linux", cpus: 1 };
  const send = (head, body = Buffer.alloc(0)) =>
    process.stdout.write(Buffer.concat([Buffer.from(JSON.stringify(body.length ? { ...head, bytes: body.length } : head) + "\\n"), body]));
  const now = () => ${now};
  send({ ...hello, now: now(), boot: 1 });
  const answer = ${answers};
  require("node:readline").createInterface({ input: process.stdin }).on("line", line => {
    const ask = JSON.parse(line);
    if (ask.op === "ping") return send({ id: ask.id, ok: { now: now(), boot: 1 } });
    const [ok, body] = answer(ask);
    send({ id: ask.id, ok }, body);
  });
'`;
const LIVE = '{ state: "live", pid: 1, startedAt: 1, end: null }';

test('a machine that sends output for ever is no longer asked', { tags: ['hostile-box'] }, async () => {
  const turn = turnOf('run_endless001');
  const { turns } = hub(
    FAKE(
      `ask => ask.op === "start" ? [${LIVE}] : ask.op === "read" ? [{ stream: "stdout" }, Buffer.alloc(ask.max, 120)] : [{}]`,
    ),
  );
  const { ended } = await turns.start(turn, OPTIONS);
  expect(await ended).toMatchObject({ exitCode: null, lost: expect.stringContaining('kept sending output') });
});

test.each([
  ['ahead', 3_600_000],
  ['behind', -3_600_000],
])(
  'the end of a turn has the time of this machine although that clock is an hour %s',
  {
    tags: ['H2'],
  },
  async (way, skew) => {
    const turn = turnOf(`run_clock${way.slice(0, 5)}`);
    const end = '{ exitCode: 0, spawnError: null, leftovers: [], endedAt: now(), lapsed: false }';
    const { turns, link } = hub(
      FAKE(
        `ask => [ask.op === "start" ? ${LIVE} : ask.op === "read" ? { state: { state: "ended", pid: 0, startedAt: now(), end: ${end} } } : { names: [] }]`,
        `Date.now() + ${skew}`,
      ),
    );
    const before = Date.now();
    const { exitCode, endedAt } = await (await turns.start(turn, OPTIONS)).ended;
    expect(exitCode).toBe(0);
    expect(endedAt).toBeLessThanOrEqual(Date.now());
    // The clock of the machine is known as exactly as its answer was fast, and the connection was opened before.
    expect(endedAt).toBeGreaterThan(before - 60_000);
    expect(Math.abs(link.clockAheadMs - skew)).toBeLessThan(60_000);
  },
);
