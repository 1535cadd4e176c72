import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ENVELOPE, RawMcp } from '../../support/raw-mcp.ts';
import { callTool, TestSquad, until } from '../../support/squad.ts';

interface Squad {
  squadId: string;
  status: string;
  note?: string;
  members: { memberId: string; status: string; rawStdout: string }[];
}

const squad = new TestSquad();
afterAll(() => squad[Symbol.asyncDispose]());

const SCRIPTED = { ENGINE_COMMAND: 'scripted' };
const task = (file: string, report: string) => `\`\`\`script\nawait ${file}\nreport ${report}\n\`\`\``;
const statusOf = (id: string) => squad.statusOf(id);
const runningIds = async () =>
  (await squad.json<{ runs: { id: string; status: string }[] }>(['ls', '--all', '--running'])).runs
    .filter(({ status }) => status === 'running')
    .map(({ id }) => id);

let files = 0;
const nextFile = () => join(squad.workspace, `go-${++files}`);

describe.each([{ modern: false }, { modern: true }])(
  'a call that waits (current revision: $modern)',
  ({ modern }) => {
    const meta = modern ? ENVELOPE : {};
    const open = (env: Record<string, string> = {}) =>
      modern
        ? Promise.resolve(new RawMcp(squad, { env: { ...SCRIPTED, ...env } }))
        : RawMcp.legacy(squad, { env: { ...SCRIPTED, ...env } });

    test('gives a sign of life at once and at every end of a member, in rising numbers, and none after the result', async () => {
      const [first, second] = [nextFile(), nextFile()];
      const client = await open();
      const members = [first, second].map(file => ({ roleId: 'coder', task: task(file, 'done') }));
      const call = client.call('start_squad_members', { members }, { ...meta, progressToken: 'token' });
      const beats = () => client.notices('notifications/progress').map(({ params }) => params!);
      await until('the first sign of life', () => beats().length === 1);
      expect(client.answers(call)).toEqual([]);
      writeFileSync(first, '');
      await until('a sign of life for the member that ended', () => beats().length === 2);
      expect(beats()[1]!.message).toMatch(/1 completed/);
      expect(client.answers(call)).toEqual([]);
      writeFileSync(second, '');
      expect(await client.told(call)).toMatchObject({ status: 'completed' });
      expect(client.messages.at(-1)!.id).toBe(call);
      const numbers = beats().map(({ progress }) => progress as number);
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      for (const beat of beats()) expect(beat.progressToken).toBe('token');
      await client.close();
    });

    test('without a progress token nothing but the answer comes', async () => {
      const client = await open();
      const before = client.messages.length;
      await client.told(
        client.call('start_squad_members', { members: [{ roleId: 'coder', task: 'x' }] }, meta),
      );
      expect(client.messages).toHaveLength(before + 1);
      await client.close();
    });

    test("answers before the client's own ceiling; get_result continues it to the end", async () => {
      const [quick, slow] = [nextFile(), nextFile()];
      writeFileSync(quick, '');
      const client = await open({ MCP_TOOL_TIMEOUT: '3000' });
      const members = [
        { roleId: 'coder', task: task(quick, 'first done') },
        { roleId: 'planner', task: task(slow, 'second done') },
      ];
      const early = await client.told<Squad>(client.call('start_squad_members', { members }, meta));
      expect(early).toMatchObject({
        status: 'running',
        note: expect.stringContaining(
          `Call get_result {"squad_id":"${early.squadId}","wait_seconds":2} to go on waiting.`,
        ),
        members: [{ status: 'completed', rawStdout: 'first done' }, { status: 'running' }],
      });
      const again = client.call('get_result', { squad_id: early.squadId, wait_seconds: 60 }, meta);
      writeFileSync(slow, '');
      expect(await client.told(again)).toMatchObject({
        status: 'completed',
        members: [{ rawStdout: 'first done' }, { status: 'completed', rawStdout: 'second done' }],
      });
      await client.close();
    });

    test('may be given up: the run goes on, and only cancel_run stops it', async () => {
      const client = await open();
      const members = [{ roleId: 'coder', task: task(nextFile(), 'never') }];
      const call = client.call('start_squad_members', { members }, meta);
      const id = await until('the run is running', async () => (await runningIds())[0]);
      client.send({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: call, reason: 'timed out' },
      });
      // Answered after the notice was read, so the notice has had its effect.
      expect(await client.told(client.call('list_running', {}, meta))).toMatchObject({ count: 1 });
      expect(client.answers(call)).toEqual([]);
      expect(await statusOf(id)).toBe('running');

      const stopped = await client.told(client.call('cancel_run', { spawn_id: id }, meta));
      expect(stopped).toEqual({ runs: [{ spawn_id: id, status: 'cancelled', was_running: true }] });
      expect(await statusOf(id)).toBe('cancelled');
      await client.close();
    });

    test('may lose its client: the run goes on, and another client has its result', {
      tags: ['F2'],
    }, async () => {
      const go = nextFile();
      const client = await open();
      client.call(
        'start_squad_members',
        { members: [{ roleId: 'coder', task: task(go, 'for whoever asks') }] },
        meta,
      );
      const id = await until('the run is running', async () => (await runningIds())[0]);
      client.child.kill('SIGKILL');
      await client.ended;
      const other = await squad.client({ modern });
      expect(await callTool(other, 'list_running')).toMatchObject({ count: 1 });
      writeFileSync(go, '');
      const result = await callTool(other, 'get_result', { spawn_id: id, wait_seconds: 90 });
      expect(result).toMatchObject({ status: 'completed', result: 'for whoever asks' });
    });
  },
);

/** A folder the user named: its roles grant what they say. */
function leads(): Record<string, string> {
  const folder = join(squad.root, 'roles');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'lead.md'), '---\nspawn: true\n---\nYou lead.\n');
  return { ...SCRIPTED, SQUAD_AGENTS_DIR: folder };
}

test('a run that is started inside a run is one level deeper, up to the limit', async () => {
  const go = nextFile();
  const runId = async (env: Record<string, string>) => {
    // Nobody waits for the end: only a running run can be a parent.
    const client = await RawMcp.legacy(squad, { env: { ...leads(), MCP_TOOL_TIMEOUT: '50', ...env } });
    const told = await client.told<Squad & { error?: { code: string } }>(
      client.call('start_squad_members', { members: [{ roleId: 'lead', task: task(go, 'done') }] }),
    );
    await client.close();
    return told.members?.[0]?.memberId ?? told.error!.code;
  };
  const shown = async (id: string) =>
    (await squad.json<{ run: { depth: number; parentId: string | null } }>(['show', id])).run;
  const top = await runId({});
  const child = await runId({ SQUAD_RUN_ID: top });
  const grandchild = await runId({ SQUAD_RUN_ID: child });
  expect(await shown(top)).toMatchObject({ depth: 0, parentId: null });
  expect(await shown(child)).toMatchObject({ depth: 1, parentId: top });
  expect(await shown(grandchild)).toMatchObject({ depth: 2, parentId: child });
  expect(await runId({ SQUAD_RUN_ID: grandchild })).toBe('DEPTH_LIMIT');
  expect(await shown(await runId({ SQUAD_RUN_ID: 'run_unknown000' }))).toMatchObject({
    depth: 0,
    parentId: null,
  });
  writeFileSync(go, '');
});

test('an agent that starts Squad by itself is known as the parent of what it starts', {
  tags: ['D1'],
}, async () => {
  const env = {
    ...leads(),
    NODE: process.execPath,
    SQUAD: join(import.meta.dirname, '../../../bin/squad.cjs'),
  };
  const task = '```script\nrun "$NODE" "$SQUAD" run lead inner --engine scripted --detach\n```';
  const client = await RawMcp.legacy(squad, { env });
  const outer = await client.told<Squad>(
    client.call('start_squad_members', { members: [{ roleId: 'lead', task }] }),
  );
  expect(outer.members[0]).toMatchObject({ status: 'completed' });
  const inner = /run_[0-9a-z]{10}/.exec(outer.members[0]!.rawStdout)![0];
  const { run } = await squad.json<{ run: object }>(['show', inner]);
  expect(run).toMatchObject({ depth: 1, parentId: outer.members[0]!.memberId });
  await client.close();
});
