import { describe, expect, test } from 'vitest';
import type { Handshake } from '../link/handshake.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { type CallerPorts, callerOfHandshake, callerOfRun } from './callers.ts';
import { mintToken } from './token.ts';

const run = (name: string, more: Partial<Run> = {}) =>
  ({
    id: `run_${name.padEnd(10, '0')}` as RunId,
    squadId: 'squad_0000000000' as SquadId,
    depth: 1,
    parentId: null,
    reviewOf: null,
    directory: '/project/part',
    workspace: '/project',
    options: { spawn: false, permission: 'edit', mcp: ['squad/squad_decision_record'] },
    tokenHash: null,
    ...more,
  }) as Run;

const handshake = (more: Partial<Handshake> = {}): Handshake => ({
  squad: 1,
  version: '1.0.0',
  view: 'mcp',
  pid: 4711,
  cwd: '/elsewhere',
  env: { FROM: 'hello' },
  workspace: '/other',
  ...more,
});

const [one, other] = [mintToken(), mintToken()];
const reviewed = run('other', { tokenHash: other.hash });
const lineageId = 'run_task000000' as RunId;
const live = [
  run('one', { tokenHash: one.hash, type: 'review', reviewOf: reviewed.id, lineageId }),
  reviewed,
];
const ended = run('ended');

/** A hub with two running runs; `around` is the run of the asking process. */
function ports(
  around: string | null,
  runs: Run[] = live,
  isProven = true,
  isUsers = true,
): CallerPorts & { looked: number[] } {
  const looked: number[] = [];
  return {
    looked,
    liveRuns: () => runs,
    run: async id => [...runs, ended].find(each => each.id === id) ?? null,
    environment: async () => ({ FROM: 'run' }),
    isUsers: async () => isUsers,
    runOfProcess: async pid => {
      looked.push(pid);
      return around === null ? null : { runId: around, isProven };
    },
  };
}

const parentOf = async (given: Handshake, from: CallerPorts) =>
  (await callerOfHandshake(given, from)).parent?.id ?? null;

describe('identity in the handshake', () => {
  test('is the user where nothing speaks for a run, with their own folder and environment', async () => {
    expect(await callerOfHandshake(handshake(), ports(null))).toEqual({
      client: null,
      cwd: '/elsewhere',
      workspace: '/other',
      env: { FROM: 'hello' },
      parent: null,
    });
    expect(await callerOfHandshake(handshake({ view: 'control' }), ports(null))).toMatchObject({
      client: 'terminal',
    });
  });

  test("is the run it is in, in that run's workspace and with that run's environment", async () => {
    const given = handshake({ env: { FROM: 'hello', MORE: '1', MCP_TOOL_TIMEOUT: '50' } });
    expect(await callerOfHandshake(given, ports(live[0]!.id))).toEqual({
      client: null,
      cwd: '/elsewhere',
      workspace: '/project',
      env: { FROM: 'run', MCP_TOOL_TIMEOUT: '50' },
      parent: {
        ...{ id: live[0]!.id, squadId: live[0]!.squadId, depth: 1, type: 'review', reviewOf: live[1]!.id },
        ...{ spawn: false, records: true, permission: 'edit', isProven: true, lineageId, parentId: null },
      },
    });
  });

  test('has proven who it is by its token or its processes, not by a mark', { tags: ['S3'] }, async () => {
    const isProven = async (given: Handshake, from: CallerPorts) =>
      (await callerOfHandshake(given, from)).parent?.isProven;
    const [{ id }] = live as [Run];
    const marked = { env: { SQUAD_RUN_ID: id } };
    expect(await isProven(handshake(), ports(id))).toBe(true);
    expect(await isProven(handshake({ ...marked, token: one.token }), ports(null))).toBe(true);
    expect(await isProven(handshake({ token: one.token }), ports(id, live, false))).toBe(true);
    expect(await isProven(handshake(marked), ports(null))).toBe(false);
    expect(await isProven(handshake(marked), ports(id, live, false))).toBe(false);
    expect((await callerOfRun(live[0]!, ports(null))).parent?.isProven).toBe(true);
  });

  test('may write decisions down only where its role has exactly that', async () => {
    const records = async (mcp: string[]) => {
      const run = { ...live[0]!, options: { ...live[0]!.options, mcp } };
      return (await callerOfRun(run, ports(null))).parent?.records;
    };
    expect(await records(['files', 'squad/squad_decision_record'])).toBe(true);
    for (const mcp of [[], ['squad'], ['squad/*'], ['squad/squad_decision_search']])
      expect(await records(mcp)).toBe(false);
  });

  test('is known by its processes before its mark, and by its mark where those say nothing', {
    tags: ['S3'],
  }, async () => {
    const marked = handshake({ env: { SQUAD_RUN_ID: live[1]!.id } });
    expect(await parentOf(marked, ports(live[0]!.id))).toBe(live[0]!.id);
    expect(await parentOf(marked, ports(null))).toBe(live[1]!.id);
    expect(await parentOf(handshake({ env: { SQUAD_RUN_ID: ended.id } }), ports(null))).toBe(ended.id);
  });

  test('a server that one run has to itself is inside that run, and has less for it', async () => {
    const marked = handshake({ env: { SQUAD_SERVER_OF: live[1]!.id } });
    expect((await callerOfHandshake(marked, ports(null))).parent).toMatchObject({
      id: live[1]!.id,
      isProven: false,
      spawn: false,
    });
    expect(await parentOf(marked, ports(live[0]!.id))).toBe(live[0]!.id);
  });

  test('a subagent works in what its server was started with, where its run has nothing else to say', async () => {
    const env = { OWN: 'of the server', FROM: 'hello', SQUAD_SERVER_OF: live[1]!.id };
    const of = async (view: Handshake['view']) =>
      (
        await callerOfHandshake(handshake({ view, env }), {
          ...ports(null),
          environment: async () => ({ FROM: 'run', ALSO: 'run' }),
        })
      ).env;
    expect(await of('subagent')).toMatchObject({ OWN: 'of the server', FROM: 'hello', ALSO: 'run' });
    expect(await of('mcp')).toEqual({ FROM: 'run', ALSO: 'run' });
  });

  test.each(['run_unknown000', '', 'nonsense', '../../x'])(
    'a mark %j that no run has is none',
    async mark => {
      expect(await parentOf(handshake({ env: { SQUAD_RUN_ID: mark } }), ports(mark))).toBeNull();
    },
  );

  test('is in the run of its process also while no run is running', { tags: ['S3'] }, async () => {
    const idle = { ...ports(live[0]!.id), liveRuns: () => [] };
    expect(await parentOf(handshake(), idle)).toBe(live[0]!.id);
  });

  test('with a token is the run that has it, wherever it is started', async () => {
    expect(await parentOf(handshake({ token: one.token }), ports(null))).toBe(live[0]!.id);
    expect(await parentOf(handshake({ token: other.token }), ports(live[1]!.id))).toBe(live[1]!.id);
  });

  test.each([
    ['of nobody', mintToken().token, null],
    ['that is empty', '', null],
    ['that is only the hash of one', one.hash, null],
    ['of another run than it is in', other.token, live[0]!.id],
  ])('with a token %s is refused, not taken for somebody else', async (_, token, around) => {
    await expect(callerOfHandshake(handshake({ token }), ports(around))).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    });
  });
});

test('an agent over HTTP works where its run does', async () => {
  expect(await callerOfRun(live[0]!, ports(null))).toMatchObject({
    cwd: '/project/part',
    workspace: '/project',
    env: { FROM: 'run' },
    parent: { id: live[0]!.id },
  });
});

test('a run that a coder starts, and its descendants, are part of its task; runs of others are not', async () => {
  const task = async (run: Run, ...above: Run[]) =>
    (await callerOfRun(run, ports(null, [run, ...above]))).parent?.lineageId;
  const lead = run('lead', { lineageId: 'run_0lead00000' as RunId });
  const coder = run('coder', { type: 'coding', parentId: lead.id, lineageId });
  const helper = run('helper', { parentId: coder.id, lineageId });
  expect(await task(coder, lead)).toBe(lineageId);
  expect(await task(helper, coder, lead)).toBe(lineageId);
  expect(await task(live[0]!)).toBe(lineageId);
  expect(await task(lead)).toBeNull();
  expect(await task(run('planner', { type: 'planning', parentId: lead.id }), lead)).toBeNull();
});

test('a process that nobody has seen takes rights away, and gives none', { tags: ['S3'] }, async () => {
  const around = await callerOfHandshake(handshake(), ports(live[0]!.id), false);
  expect(around.parent).toMatchObject({ id: live[0]!.id, isProven: false });
  for (const given of [handshake(), handshake({ token: one.token })])
    await expect(callerOfHandshake(given, ports(null), false)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
});

test("a run's token is refused to a process that is neither of that run nor certainly the user's", {
  tags: ['S3'],
}, async () => {
  const given = handshake({ token: one.token });
  await expect(callerOfHandshake(given, ports(null, live, true, false))).rejects.toMatchObject({
    code: 'NOT_ALLOWED',
  });
  // Only its mark says that it is of that run: anybody can have that.
  const marked = await callerOfHandshake(given, ports(live[0]!.id, live, false, false));
  expect(marked.parent).toMatchObject({ id: live[0]!.id, isProven: false });
  const inside = await callerOfHandshake(given, ports(live[0]!.id, live, true, false));
  expect(inside.parent).toMatchObject({ id: live[0]!.id, isProven: true });
});
