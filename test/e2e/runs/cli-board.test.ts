import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askHub } from '../../support/ask-hub.ts';
import { script } from '../../support/git-squad.ts';
import { ended, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
beforeAll(async () => {
  await squad.unlimited();
  squad.write('.agents/coder.md', 'You code.');
  squad.env.SQUAD_AGENTS_DIR = `${squad.workspace}/.agents`;
});
afterAll(() => squad[Symbol.asyncDispose]());

const start = async (...lines: string[]) => {
  const { runIds } = await squad.json<{ runIds: string[] }>([
    'run',
    '-d',
    'coder',
    `Do it.${script(...lines)}`,
  ]);
  return runIds[0]!;
};
const over = async (...lines: string[]) => {
  const id = await start(...lines);
  await squad.run(['wait', id]);
  return id;
};

describe('squad ls --need', () => {
  test('lists failed runs before running and completed ones, and says how many there are', async () => {
    const [failed, done] = [await over('fail It broke.'), await over('say Fine.')];
    const working = await start('hang');
    await until('it is running', async () => (await squad.statusOf(working)) === 'running');
    const { runs, counts } = await squad.json<{ runs: { id: string; need: string }[]; counts: object }>([
      ...['ls', '--need'],
    ]);
    expect(runs.map(({ id, need }) => [id, need])).toEqual([
      [failed, 'failed'],
      [working, 'running'],
      [done, 'done'],
    ]);
    expect(counts).toEqual({ needs_you: 0, failed: 1, running: 1, queued: 0, done: 1 });
    const { stdout } = await squad.run(['ls', '--need']);
    expect(stdout).toMatch(new RegExp(`${failed} +failed[\\s\\S]*${working} +running[\\s\\S]*${done} +done`));
    expect(stdout).toContain('failed 1 · running 1 · done 1');
    expect((await squad.json<{ runs: object[] }>(['ls', '--need', '-n', '1'])).runs).toHaveLength(1);
    expect((await squad.run(['ls', '--need', '--running'])).stdout).not.toContain(done);
    await squad.run(['cancel', working]);
  });
});

describe('squad events', () => {
  test('tells what happened of a run, the newest last, harmless to a terminal', async () => {
    const id = await over('say Look\u001b[2Jing.', 'report Done.');
    const { stdout } = await squad.run(['events', '--run', id]);
    const types = [...stdout.matchAll(/ (run\.\w+) /g)].map(([, type]) => type);
    expect(types[0]).toBe('run.queued');
    expect(types.at(-1)).toBe('run.ended');
    expect(stdout).toMatch(/run\.ended +completed, exit code 0/);
    expect(stdout).not.toContain('\u001b');
    const { events } = await squad.json<{ events: { seq: number; runId: string }[] }>([
      'events',
      '--run',
      id,
    ]);
    expect(events.every(({ runId }) => runId === id)).toBe(true);
    expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).toSorted((a, b) => a - b));
    expect((await squad.run(['events', '-n', '2'])).stdout.trim().split('\n')).toHaveLength(2);
  });

  test('lists events of the current workspace; --workspace names another, --all takes every one', async () => {
    const here = await over('say here');
    squad.write('elsewhere/README.md', '');
    const there = join(squad.workspace, 'elsewhere');
    await squad.run(['run', 'coder', 'say there', '--workspace', there]);
    const { runs } = await squad.json<{ runs: { id: string }[] }>(['ls', '--workspace', there]);
    const runsOf = async (...args: string[]) => {
      const { events } = await squad.json<{ events: { runId: string | null }[] }>(['events', ...args]);
      return new Set(events.map(({ runId }) => runId));
    };
    const other = runs[0]!.id;
    expect(await runsOf()).toSatisfy(ids => ids.has(here) && !ids.has(other));
    expect(await runsOf('--workspace', there)).toEqual(new Set([null, other]));
    expect(await runsOf('--all')).toSatisfy(ids => ids.has(here) && ids.has(other));
  });

  test('goes on until the run has ended, one line of JSON each', async () => {
    const id = await start(`await ${squad.workspace}/go`);
    const following = squad.start(['events', '--run', id, '--follow', '--json']);
    let heard = '';
    following.stdout!.on('data', chunk => {
      heard += chunk;
    });
    const result = ended(following);
    await until('it follows', () => heard.includes('run.started'));
    squad.write('go', '');
    const { code, stdout } = await result;
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { v: number; type: string; seq: number; runId: string });
    expect(lines.at(-1)).toMatchObject({ v: 1, type: 'run.ended', runId: id });
    expect(new Set(lines.map(({ seq }) => seq)).size).toBe(lines.length);
    // Of one that has ended there is nothing to wait for.
    expect((await squad.run(['events', '--run', id, '--follow'])).stdout).toContain('run.ended');
  });

  test('refuses a run there is not', async () => {
    const { code, stderr } = await squad.run(['events', '--run', 'run_zzzzzzzzzz']);
    expect(code).toBe(2);
    expect(stderr).toContain('(RUN_UNKNOWN)');
  });
});

describe('squad cost', () => {
  test('has what runs reported, what is not known as unknown, and the budget of the day', async () => {
    const empty = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    try {
      expect((await empty.run(['cost'])).stdout).toContain('No runs in the last 14 days.');
    } finally {
      await empty[Symbol.asyncDispose]();
    }
    await squad.json(['config', 'set', 'budget.day_usd', '5']);
    const before = await squad.json<{ total: { costUsd: number | null; unreported: number } }>(['cost']);
    expect(before.total.costUsd).toBeNull();
    expect((await squad.run(['cost'])).stdout).toMatch(/total +unknown +unknown +unknown/);
    await over('usage 1200 340 900 0.25', 'say Fine.');
    const { stdout } = await squad.run(['cost', '--days', '1']);
    expect(stdout).toMatch(/\d{4}-\d\d-\d\d +\$0\.25 +1\.2k +340/);
    expect(stdout).toMatch(/coder +\$0\.25/);
    expect(stdout).toContain('Today: $0.25 of $5.00 (budget.day_usd)');
    expect(stdout).toMatch(/Cost unknown for \d+ runs \(not included in totals\)/);
    const report = await squad.json<{ days: object[]; total: object; budgets: object }>([
      'cost',
      '--days',
      '2',
    ]);
    expect(report).toMatchObject({ total: { costUsd: 0.25 }, budgets: { dayUsd: 5 } });
    expect(report.days).toHaveLength(2);
    expect((await squad.run(['cost', '--days', '400'])).code).toBe(2);
  });
});

describe('the list of workspaces', () => {
  test('lists a workspace whose folder is gone only while a run of it is active', async () => {
    const folders = ['kept', 'gone', 'left'].map(name => join(squad.root, name));
    const known = async () => {
      const { workspaces } = await askHub<{ workspaces: { path: string }[] }>(squad, 'list_workspaces');
      return folders.filter(folder => workspaces.some(({ path }) => path === folder));
    };
    const [kept, gone, left] = folders as [string, string, string];
    for (const folder of folders) mkdirSync(folder);
    const run = async (folder: string, line: string) =>
      (
        await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', `Do it.${script(line)}`], {
          cwd: folder,
        })
      ).runIds[0];
    const ended = [await run(kept, 'say Fine.'), await run(gone, 'say Fine.')];
    const working = await run(left, 'hang');
    await squad.run(['wait', ...ended]);
    expect(await known()).toEqual(folders);
    for (const folder of [gone, left]) rmSync(folder, { recursive: true });
    expect(await known()).toEqual([kept, left]);
    await squad.run(['cancel', working]);
    await squad.run(['wait', working]);
    expect(await known()).toEqual([kept]);
  });
});
