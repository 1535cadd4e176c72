import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BIN, callTool, TestSquad, until } from '../../support/squad.ts';

/** A run that starts others. Its roles are the user's own, outside of what agents can write. */
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted', NODE: process.execPath, SQUAD: BIN });
squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
const ROLES = {
  coder: 'You code.',
  tester: '---\ntools: [Bash]\n---\nYou test.',
  lead: '---\nspawn: true\n---\nYou lead.',
  reader: '---\nspawn: true\ntools: [Read, Grep]\n---\nYou read.',
  thrifty: '---\nspawn: true\nbudget: 1\n---\nYou save.',
};
let client: Client;

beforeAll(async () => {
  mkdirSync(squad.env.SQUAD_AGENTS_DIR!);
  for (const [id, text] of Object.entries(ROLES))
    writeFileSync(join(squad.env.SQUAD_AGENTS_DIR!, `${id}.md`), text);
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
  client = await squad.client();
});
afterAll(() => squad[Symbol.asyncDispose]());

const script = (...lines: string[]) => `\`\`\`script\n${lines.join('\n')}\n\`\`\``;
const spawnCall = (more: Record<string, unknown>) =>
  `call spawn_agent ${JSON.stringify({ include_context: false, prompt: 'x', ...more })}`;

interface Result {
  spawn_id: string;
  status: string;
  result: string;
}

const start = (roleId: string, lines: string[], more: Record<string, unknown> = {}) =>
  callTool<Result>(client, 'spawn_agent', {
    roleId,
    include_context: false,
    prompt: script(...lines),
    ...more,
  });

interface Shown {
  run: {
    status: string;
    depth: number;
    options: { permission: string; spawn: boolean; tools: string[] | null; budgetUsd: number | null };
  };
}
const shown = (id: string) => squad.shown<Shown>(id);
const optionsOf = async (id: string) => (await shown(id)).run.options;
/** The runs that the agent's own output lists as started. */
const startedIn = ({ result }: Result): string[] =>
  [...result.matchAll(/"spawn_id":"(run_\w+)"/g)].map(([, id]) => id!);
const untilShown = (id: string, ...statuses: string[]) =>
  until(`${id} is ${statuses.join(' or ')}`, async () => statuses.includes((await shown(id)).run.status));

describe('rights and limits that a run hands on', () => {
  test('is nothing that it wrote itself, in whatever folder roles are looked for', async () => {
    squad.write('roles/lead.md', ROLES.lead);
    const other = await squad.client({ env: { SQUAD_AGENTS_DIR: 'roles' } });
    const evil = ['write roles/evil.md', '| ---', '| permission: full', '| spawn: true', '| ---', '| Evil.'];
    const lines = [...evil, spawnCall({ roleId: 'evil' })];
    const prompt = script(...lines);
    const lead = await callTool<Result>(other, 'spawn_agent', {
      roleId: 'lead',
      prompt,
      include_context: false,
    });
    expect(lead.result).toContain('Not used until you run `squad trust`: permission in ');
    const [child] = startedIn(lead);
    expect(await optionsOf(child!)).toMatchObject({ permission: 'edit', spawn: false });
  });

  test('is no tool that it does not have, except by a role', async () => {
    const lead = await start('reader', [
      spawnCall({ tools: ['Read', 'Bash'] }),
      spawnCall({}),
      spawnCall({ tools: ['Grep'] }),
      spawnCall({ roleId: 'tester' }),
    ]);
    expect(lead.result).toMatch(
      /NOT_ALLOWED.*has only the tools Read, Grep, so it cannot give a run the tools Bash/,
    );
    const tools = await Promise.all(startedIn(lead).map(async id => (await optionsOf(id)).tools));
    expect(tools).toEqual([['Read', 'Grep'], ['Grep'], ['Bash']]);
  });

  test('is no more money than is left to it', async () => {
    const spends = (usd: number) => script(`usage 1 1 0 ${usd}`);
    const lead = await start('thrifty', [
      spawnCall({ max_cost_usd: 100, abort_on_budget_exceeded: false, prompt: spends(0.5) }),
      spawnCall({ max_cost_usd: 0.125 }),
      spawnCall({ prompt: spends(0.5) }),
      spawnCall({}),
    ]);
    expect(lead.result).toMatch(/BUDGET_EXCEEDED.*is used up/);
    const budgets = await Promise.all(startedIn(lead).map(async id => (await optionsOf(id)).budgetUsd));
    expect(budgets).toEqual([1, 0.125, 0.5]);
  });
});

describe('a run that waits for others does not keep them waiting for its place', () => {
  beforeAll(() => squad.json(['config', 'set', 'limits.concurrency', '1']));
  afterAll(() => squad.json(['config', 'unset', 'limits.concurrency']));

  test.each([
    ['by the call that starts them', [spawnCall({ prompt: script('report from the child') })]],
    [
      'by a command in its shell',
      ['run "$NODE" "$SQUAD" run coder "$(printf \'```script\\nreport from the child\\n```\')"'],
    ],
  ])('%s', async (_, lines) => {
    const lead = await start('lead', [...lines, 'say and the lead goes on']);
    expect(lead).toMatchObject({ status: 'completed' });
    expect(lead.result).toContain('from the child');
    expect(lead.result).toContain('and the lead goes on');
  });

  test('by asking for a result', async () => {
    const lead = await start(
      'lead',
      [
        spawnCall({ async: true, prompt: script('report from the child') }),
        'await ask',
        'run "$NODE" "$SQUAD" wait "$(cat child)"',
      ],
      { async: true },
    );
    const child = await until('the child is queued', async () => {
      const { agents } = await callTool<{ agents: { spawn_id: string; status: string }[] }>(
        client,
        'list_running',
      );
      return agents.find(({ status, spawn_id }) => status === 'queued' && spawn_id !== lead.spawn_id)
        ?.spawn_id;
    });
    squad.write('child', child);
    squad.write('ask', '');
    const ended = await callTool<Result>(client, 'get_result', { spawn_id: lead.spawn_id, wait_seconds: 90 });
    expect(ended).toMatchObject({ status: 'completed' });
    expect((await shown(child)).run.status).toBe('completed');
  });
});

describe('the end of a run that has started others', () => {
  const family = async (...after: string[]) => {
    const grandchild = spawnCall({ async: true, prompt: script('hang') });
    const child = spawnCall({ async: true, roleId: 'lead', prompt: script(grandchild, 'hang') });
    const { spawn_id } = await start('lead', [child, ...after], { async: true });
    const below = await until('both are running', async () => {
      const { runs } = await squad.json<{ runs: { id: string; parentId: string | null; status: string }[] }>([
        'ls',
      ]);
      const [one] = runs.filter(run => run.parentId === spawn_id && run.status === 'running');
      const [two] = runs.filter(run => run.parentId === one?.id && run.status === 'running');
      return one && two && [one.id, two.id];
    });
    return { lead: spawn_id, below };
  };

  test('ends them too when it is cancelled, and says so', async () => {
    const { lead, below } = await family('hang');
    const { runs, note } = await callTool<{ runs: { spawn_id: string; status: string }[]; note: string }>(
      client,
      'cancel_run',
      { spawn_id: lead },
    );
    expect(runs.map(run => run.spawn_id).sort()).toEqual([lead, ...below].sort());
    expect(runs.every(({ status }) => status === 'cancelled')).toBe(true);
    expect(note).toBe('2 of these were started by the others');
  });

  test('ends them too when it is cancelled in the terminal', async () => {
    const { lead, below } = await family('hang');
    const { stdout } = await squad.run(['cancel', lead]);
    for (const id of [lead, ...below]) expect(stdout).toContain(`${id}  cancelled`);
    expect(stdout).toContain('2 of these were started by the others');
  });

  test('leaves them running when it ended by itself, and cancelling it then ends them', async () => {
    const { lead, below } = await family('await done');
    squad.write('done', '');
    await untilShown(lead, 'completed');
    for (const id of below) expect((await shown(id)).run.status).toBe('running');
    await callTool(client, 'cancel_run', { spawn_id: lead });
    for (const id of below) expect((await shown(id)).run.status).toBe('cancelled');
  });
});
