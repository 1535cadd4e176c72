import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive, TestSquad, until } from '../../support/squad.ts';
import { footprint, storedEvents } from '../../support/stored.ts';
import { type Refused, type Squad, startAndWait, strictCall, wholeStream } from '../../support/tools.ts';

const squad = new TestSquad();

/** An agent that ignores TERM, with a child that does too and one that left for a session of its own. */
const STUBBORN = `
trap '' TERM
echo $$ >"$1.pids"
sh -c 'trap "" TERM; echo $$ >>"$0.pids"; while :; do sleep 0.1; done' "$1" &
setsid sh -c 'trap "" TERM; echo $$ >>"$0.pids"; while :; do sleep 0.1; done' "$1" &
while [ "$(wc -l <"$1.pids")" -lt 3 ]; do sleep 0.02; done
echo ready
while :; do sleep 0.1; done`;

beforeAll(async () => {
  squad.script('stubborn.sh', STUBBORN);
  squad.script(
    'leaves.sh',
    'setsid sh -c \'echo $$ >"$0.pids"; exec sleep 300\' "$1" & while [ ! -s "$1.pids" ]; do sleep 0.02; done; echo done',
  );
  squad.script('floods.sh', 'echo FIRST; while :; do echo 0123456789012345678901234567890123456789; done');
  squad.script('waits.sh', 'echo "$1" >>order; while [ ! -e "release-$1" ]; do sleep 0.02; done');
  squad.write('roles/coder.md', 'You code.');
  squad.write('roles/keeper.md', '---\nleftovers: keep\n---\nYou keep.');
  squad.write('roles/hasty.md', '---\ntimeout: 400ms\n---\nYou hurry.');
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
});
afterAll(() => squad[Symbol.asyncDispose]());

const open = (env: Record<string, string>) => squad.client({ env: { SQUAD_AGENTS_DIR: 'roles', ...env } });
const one = (task: string, more: Record<string, unknown> = {}) => ({
  members: [{ roleId: 'coder', task, ...more }],
});
const pidsIn = (name: string): number[] => {
  try {
    return readFileSync(join(squad.workspace, `${name}.pids`), 'utf8')
      .trim()
      .split('\n')
      .map(Number);
  } catch {
    return [];
  }
};

describe('the whole tree of an agent that ignores being asked to stop is ended', () => {
  test('when its time is up', { tags: ['A8'] }, async () => {
    const client = await open({ RUN_TEMPLATE: './stubborn.sh <%= task %>', PROCESS_TIMEOUT_MS: '6000' });
    const { members } = await startAndWait(client, one('timed'));
    expect(members[0]).toMatchObject({ status: 'timeout', rawStdout: 'ready\n' });
    expect(pidsIn('timed')).toHaveLength(3);
    expect(pidsIn('timed').filter(isAlive)).toEqual([]);
  });

  test('when it is cancelled', async () => {
    const client = await open({ RUN_TEMPLATE: './stubborn.sh <%= task %>', MCP_TOOL_TIMEOUT: '100' });
    const started = await strictCall<Squad>(client, 'start_squad_members', one('cancelled'));
    await until('the tree stands', () => pidsIn('cancelled').length === 3);
    expect(await strictCall(await open({}), 'cancel_run', { squad_id: started.squadId })).toMatchObject({
      runs: [{ status: 'cancelled', was_running: true }],
    });
    expect(pidsIn('cancelled').filter(isAlive)).toEqual([]);
    const events = (await storedEvents(squad)).filter(event => event.run_id === started.members[0]!.memberId);
    expect(events.map(event => event.type)).toEqual([
      'run.queued',
      'run.started',
      'run.stopping',
      'run.ended',
    ]);
    expect(events.at(-1)!.data).toMatchObject({ status: 'cancelled' });
  });

  test("by the role's own time limit, which counts more than the setting", async () => {
    const client = await open({ RUN_TEMPLATE: 'sleep 60', PROCESS_TIMEOUT_MS: '50000' });
    const { members } = await startAndWait(client, { members: [{ roleId: 'hasty', task: 'x' }] });
    expect(members[0]!.status).toBe('timeout');
  });
});

describe('processes that an agent leaves running when it ends', () => {
  test('is ended and listed', { tags: ['F1', 'zombies-and-orphans'] }, async () => {
    const client = await open({ RUN_TEMPLATE: './leaves.sh left' });
    const { members } = await startAndWait(client, one('x'));
    expect(members[0]).toMatchObject({ status: 'completed', rawStdout: 'done\n' });
    const [pid] = pidsIn('left') as [number];
    expect(isAlive(pid)).toBe(false);
    const id = members[0]!.memberId;
    expect(await strictCall(client, 'get_result', { spawn_id: id })).toMatchObject({
      evidence: { exit_code: 0, leftovers_killed: 1 },
    });
    const shown = await squad.run(['show', id]);
    expect(shown.stdout).toContain(`leftover  ${pid} sleep 300 (ended)`);
  });

  test('stays where the role says so', async () => {
    const client = await open({ RUN_TEMPLATE: './leaves.sh kept' });
    const { members } = await startAndWait(client, { members: [{ roleId: 'keeper', task: 'x' }] });
    const [pid] = pidsIn('kept') as [number];
    try {
      expect(members[0]!.status).toBe('completed');
      expect(isAlive(pid)).toBe(true);
      expect(await strictCall(client, 'get_result', { spawn_id: members[0]!.memberId })).toMatchObject({
        evidence: { leftovers_killed: 0 },
      });
    } finally {
      process.kill(pid, 'SIGKILL');
    }
  });
});

test('an agent that writes more than the limit is ended, and what it wrote is kept', {
  tags: ['F9'],
}, async () => {
  await squad.json(['config', 'set', 'output.max_bytes', '20000']);
  try {
    const client = await open({ RUN_TEMPLATE: './floods.sh' });
    const { members } = await startAndWait(client, one('x'));
    expect(members[0]).toMatchObject({
      status: 'error',
      truncated: true,
      error: { code: 'OUTPUT_LIMIT', message: expect.stringContaining('output.max_bytes') },
    });
    expect(members[0]!.rawStdout).toMatch(/^FIRST\n0123/);
    const { files } = await squad.json<{ files: { stdoutBytes: number } }>(['show', members[0]!.memberId]);
    expect(files.stdoutBytes).toBeGreaterThan(20_000);
    const { page } = await strictCall<{ page: { size: number } }>(client, 'get_result', {
      spawn_id: members[0]!.memberId,
      stream: 'stdout',
      offset: -5,
    });
    expect(page.size).toBe(files.stdoutBytes);
  } finally {
    await squad.json(['config', 'unset', 'output.max_bytes']);
  }
});

test('an agent that writes more than the limit and ends before it is measured has failed too', {
  tags: ['F9'],
}, async () => {
  await squad.json(['config', 'set', 'output.max_bytes', '20000']);
  try {
    squad.script('bursts.sh', 'head -c 30000 /dev/zero | tr "\\0" x');
    const client = await open({ RUN_TEMPLATE: './bursts.sh' });
    const { members } = await startAndWait(client, one('x'));
    expect(members[0]).toMatchObject({ status: 'error', error: { code: 'OUTPUT_LIMIT' } });
    expect(members[0]!.rawStdout).toMatch(/^xxxx/);
  } finally {
    await squad.json(['config', 'unset', 'output.max_bytes']);
  }
});

describe('more runs than may work at once', () => {
  test('wait in the order they were asked for, and start as soon as one ends', { tags: ['F3'] }, async () => {
    await squad.json(['config', 'set', 'limits.concurrency', '1']);
    const order = () => {
      try {
        return readFileSync(join(squad.workspace, 'order'), 'utf8').split('\n').filter(Boolean);
      } catch {
        return [];
      }
    };
    try {
      const client = await open({ RUN_TEMPLATE: './waits.sh <%= task %>', MCP_TOOL_TIMEOUT: '100' });
      const started = await strictCall<Squad>(client, 'start_squad_members', {
        members: ['a', 'b', 'c'].map(task => ({ roleId: 'coder', task })),
      });
      await until('the first is running', () => order().length === 1);
      const { agents } = await strictCall<{ agents: { status: string; started_at: string | null }[] }>(
        client,
        'list_running',
      );
      expect(agents.map(agent => agent.status)).toEqual(['running', 'queued', 'queued']);
      expect(agents[1]).toMatchObject({ started_at: null, elapsed_seconds: null });
      expect(order()).toEqual(['a']);
      // Nobody has looked yet: a 0 would say that nothing was left.
      for (const { memberId } of started.members.slice(0, 2))
        expect(await strictCall(client, 'get_result', { spawn_id: memberId })).toMatchObject({
          evidence: { exit_code: null, leftovers_killed: null },
        });
      squad.write('release-a', '');
      await until('the second is running', () => order().length === 2);

      // Cancelling one that waits takes it out of the line; raising the limit lets the next one in.
      const later = await strictCall<Squad>(client, 'start_squad_members', one('d'));
      await strictCall(client, 'cancel_run', { spawn_id: started.members[2]!.memberId });
      await squad.json(['config', 'set', 'limits.concurrency', '2']);
      await until('the last is running', () => order().length === 3);
      expect(order()).toEqual(['a', 'b', 'd']);
      squad.write('release-b', '');
      squad.write('release-d', '');
      await until('all are over', async () => {
        const { count } = await strictCall<{ count: number }>(client, 'list_running');
        return count === 0;
      });
      expect(
        (await strictCall<Squad>(client, 'get_result', { squad_id: started.squadId })).members,
      ).toMatchObject([{ status: 'completed' }, { status: 'completed' }, { status: 'cancelled' }]);
      expect((await strictCall<Squad>(client, 'get_result', { squad_id: later.squadId })).status).toBe(
        'completed',
      );
    } finally {
      await squad.json(['config', 'unset', 'limits.concurrency']);
    }
  });

  test('than may start in a minute are refused with the limit, its value and how to raise it', {
    tags: ['F3', 'R17', 'agents-that-start-agents-without-end'],
  }, async () => {
    await squad.json(['config', 'set', 'limits.spawns_per_minute', '1']);
    try {
      const client = await open({ RUN_TEMPLATE: 'true' });
      const before = await footprint(squad);
      const refused = await strictCall<Refused>(client, 'start_squad_members', {
        members: [...one('a').members, ...one('b').members],
      });
      expect(refused.error).toMatchObject({ code: 'SPAWN_RATE_LIMIT', kind: 'state' });
      expect(refused.error.message).toMatch(/the limit is 1 \(limits\.spawns_per_minute\)$/);
      expect(refused.error.suggestions!.join()).toMatch(/squad config set limits\.spawns_per_minute \d+/);
      expect(await footprint(squad)).toEqual(before);
      expect(await squad.run(['run', '--engine', 'scripted', 'coder', 'x'])).toMatchObject({ code: 4 });
    } finally {
      await squad.unlimited();
    }
  });
});

test('the next hub continues to count the starts of the last minute', {
  tags: ['agents-that-start-agents-without-end'],
}, async () => {
  await using other = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  await other.json(['config', 'set', 'limits.spawns_per_minute', '2']);
  for (const task of ['one', 'two'])
    expect(await other.run(['run', 'coder', task])).toMatchObject({ code: 0 });
  await other.run(['hub', 'stop']);
  const refused = await other.run(['run', 'coder', 'three']);
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain(
    '3 starts in a minute; the limit is 2 (limits.spawns_per_minute) (SPAWN_RATE_LIMIT)',
  );
});

test('runs inside runs are refused beyond the depth that is allowed', {
  tags: ['R17', 'agents-that-start-agents-without-end'],
}, async () => {
  // The agent starts a squad of its own, which does the same, and so on.
  squad.script('deeper.sh', 'exec "$SQUAD_NODE" "$SQUAD_BIN" run lead deeper');
  squad.write('roles/lead.md', '---\nspawn: true\n---\nYou lead.');
  // Agents could have written it themselves: what it grants to them needs the user's word.
  await squad.json(['trust', '--yes', 'roles/lead.md']);
  const env = {
    SQUAD_AGENTS_DIR: 'roles',
    RUN_TEMPLATE: './deeper.sh',
    SQUAD_NODE: process.execPath,
    SQUAD_BIN: join(import.meta.dirname, '..', '..', '..', 'bin', 'squad.cjs'),
  };
  const client = await squad.client({ env });
  const { members } = await startAndWait(client, one('x', { roleId: 'lead' }));
  expect(members[0]!.status).toBe('error');
  const { runs } = await squad.json<{
    runs: { id: string; task: string; depth: number; parentId: string }[];
  }>(['ls', '--limit', '100']);
  const chain = runs.filter(run => run.task === 'deeper').sort((a, b) => a.depth - b.depth);
  expect(chain.map(run => run.depth)).toEqual([1, 2]);
  expect(chain[0]!.parentId).toBe(members[0]!.memberId);
  expect(chain[1]!.parentId).toBe(chain[0]!.id);
  const deepest = await wholeStream(client, chain[1]!.id, 'stderr');
  const lineage = [members[0]!.memberId, chain[0]!.id, chain[1]!.id].map(id => `lead ${id}`).join(' → ');
  expect(deepest).toContain(`the limit is 2 (limits.depth); asked for by ${lineage} (DEPTH_LIMIT)`);
});
