import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BIN, ended, TestSquad, until } from '../../support/squad.ts';
import { footprint, storedEvents } from '../../support/stored.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;
let talker: string;

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '300']);
  talker = await detached(
    fenced('say one\nstderr two\nrun echo three\nusage 1200 34 5 0.5\nreport The report.'),
  );
  await squad.run(['log', '-f', talker]);
});
afterAll(() => squad[Symbol.asyncDispose]());

async function detached(task: string, role = 'coder'): Promise<string> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', role, task]);
  return runIds[0]!;
}

const running = (id: string) =>
  until(`${id} is running`, async () => (await squad.statusOf(id)) === 'running');

describe('squad show', () => {
  test('tells everything about a run, its answer last', async () => {
    const { code, stdout } = await squad.run(['show', talker]);
    expect(code).toBe(0);
    const facts = Object.fromEntries(
      [...stdout.matchAll(/^ {2}(\w[\w ]*?) {2,}(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(facts).toMatchObject({
      state: 'done',
      role: 'coder',
      engine: 'scripted (no model was called)',
      folder: squad.workspace,
      limit: '30m00s',
      'turn 1': 'exit code 0',
      tokens: '1200 in, 34 out, 5 cached; cost $0.5',
    });
    expect(facts['asked by']).toMatch(/^terminal at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(stdout).toMatch(/\nTask\nDo it\.\n```script\n[\s\S]*```\n\nResult\nThe report\.\n$/);
  });

  test('takes the beginning of an id, with or without its kind', async () => {
    for (const short of [talker.slice(0, -3), talker.slice('run_'.length), talker.slice('run_'.length, -3)])
      expect((await squad.json<{ run: { id: string } }>(['show', short])).run.id).toBe(talker);
  });

  test('suggests the nearest id for a wrong one', async () => {
    const wrong = `${talker.slice(0, -1)}${talker.endsWith('0') ? '1' : '0'}`;
    expect(await squad.run(['show', wrong])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `squad: There is no run ${wrong} (RUN_UNKNOWN)\n  Did you mean ${talker}?\n`,
    });
    expect(await squad.run(['show', 'nonsense!'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/`squad ls`.*list_running/),
    });
  });

  test('asks for more letters when several ids begin alike', async () => {
    // There are 32 letters: of 33 ids, two begin with the same one.
    const words = Array.from({ length: 33 }, () => ['coder', fenced('say b')]).flat();
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...words]);
    const firsts = runIds.map(id => id.slice(0, 'run_'.length + 1));
    const shared = firsts.find((first, at) => firsts.indexOf(first) !== at)!;
    expect(await squad.run(['show', shared])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${shared} matches several ids: run_`),
    });
  });
});

describe('squad log', () => {
  test('shows what the agent said and did, each stream on its own', async () => {
    expect(await squad.run(['log', talker])).toEqual({
      code: 0,
      stdout: 'one\n» run echo three\n$ echo three\nthree\n',
      stderr: 'two\n',
    });
  });

  test('--raw shows the bytes as they were written', async () => {
    const { stdout } = await squad.run(['log', '--raw', talker]);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { type: string });
    expect(lines.map(line => line.type)).toEqual(['start', 'text', 'tool', 'text', 'usage', 'end']);
  });

  test('-f copies a living run to its last word and ends as the run did', async () => {
    const id = await detached(fenced('say first\nawait go-on\nsay last\nfail for a reason'));
    const child = squad.start(['log', '-f', id]);
    let seen = '';
    child.stdout!.on('data', chunk => {
      seen += chunk;
    });
    const ran = ended(child);
    await until('the first words are out', () => seen.includes('first'));
    squad.write('go-on', '');
    expect(await ran).toMatchObject({ code: 1, stdout: 'first\nlast\n✗ for a reason\n', stderr: '' });
  });

  test('-f goes on when the hub is restarted under it', async () => {
    const id = await detached(fenced('say first\nawait go-on-again\nsay last'));
    const child = squad.start(['log', '-f', id]);
    let seen = '';
    child.stdout!.on('data', chunk => {
      seen += chunk;
    });
    const ran = ended(child);
    await until('the first words are out', () => seen.includes('first'));
    await squad.run(['hub', 'stop']);
    squad.write('go-on-again', '');
    expect(await ran).toMatchObject({ code: 0, stdout: 'first\nlast\n' });
  });

  test('of a template agent is its output byte for byte, whatever it holds', async () => {
    const words = 'plain\u001b[31m red\u001b[0m\r\n日本語 without an end';
    squad.write('words.txt', words);
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'x'], {
      env: { ENGINE_COMMAND: '', RUN_TEMPLATE: 'cat words.txt' },
    });
    expect(await squad.run(['log', '-f', runIds[0]!])).toMatchObject({ code: 0, stdout: words });
  });

  test('that nobody reads to its end stops without a word', async () => {
    const id = await detached(fenced('flood 3MB'));
    await squad.run(['log', '-f', id]);
    const shell = `'${process.execPath}' '${BIN}' log --raw ${id} | head -c 20`;
    const out = execFileSync('/bin/sh', ['-c', `${shell} 2>&1`], { env: squad.env, encoding: 'utf8' });
    expect(out).toBe('{"at":'.padEnd(20, out.slice(6)));
    const both = execFileSync('/bin/sh', ['-c', `{ ${shell} >/dev/null; } 2>&1`], {
      env: squad.env,
      encoding: 'utf8',
    });
    expect(both).toBe('');
  });
});

describe('squad ls', () => {
  test('lists newest first, with state, role and the first line of the task', async () => {
    const { code, stdout } = await squad.run(['ls', '-n', '1000']);
    expect(code).toBe(0);
    const [titles, ...rows] = stdout.trimEnd().split('\n');
    expect(titles!.split(/ {2,}/)).toEqual(['run', 'state', 'role', 'engine', 'asked', 'took', 'task']);
    const row = rows.find(line => line.startsWith(talker))!;
    expect(row.split(/ {2,}/)).toEqual([
      talker,
      'done',
      'coder',
      'scripted',
      expect.stringMatching(/ ago$/),
      expect.stringMatching(/^\d/),
      'Do it.',
    ]);
    const { runs } = await squad.json<{ runs: { id: string; createdAt: number }[] }>(['ls', '-n', '1000']);
    expect(runs.map(run => run.createdAt)).toEqual(runs.map(run => run.createdAt).sort((a, b) => b - a));
    expect(runs.at(-1)!.id).toBe(talker);
  });

  test('says how to start when there is nothing', async () => {
    squad.write('empty/.keep', '');
    const { code, stdout } = await squad.run(['ls', '--workspace', 'empty']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('squad run ROLE "TASK"')]);
    const all = await squad.json<{ runs: unknown[] }>(['ls', '--all', '--workspace', 'empty']);
    expect(all.runs.length).toBeGreaterThan(0);
  });

  test.each(['abc', '0', '-1', '1.5'])('refuses a count that is none: %s', async limit => {
    expect(await squad.run(['ls', `--limit=${limit}`])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Use a whole number from 1 to 1000.'),
    });
  });
});

describe('squad cancel', () => {
  test('ends a run, a squad, or everything there is', async () => {
    const [first, second, third] = await Promise.all(
      ['a', 'b', 'c'].map(name => detached(fenced(`say ${name}\nhang`))),
    );
    await Promise.all([first!, second!, third!].map(running));
    expect(await squad.run(['cancel', first!])).toMatchObject({ code: 0, stdout: `${first}  cancelled\n` });
    expect(await squad.run(['cancel', first!])).toMatchObject({
      code: 0,
      stdout: `${first}  had already ended: cancelled\n`,
    });
    const { run } = await squad.json<{ run: { squadId: string } }>(['show', second!]);
    expect((await squad.run(['cancel', run.squadId])).stdout).toBe(`${second}  cancelled\n`);
    const { runs } = await squad.json<{ runs: unknown[] }>(['cancel', '--all']);
    expect(runs).toEqual([{ spawn_id: third, status: 'cancelled', was_running: true }]);
    expect((await squad.run(['cancel', '--all'])).stdout).toBe('No runs are running in this workspace.\n');
  });

  test('asks which when it is not told, and knows no wrong id', async () => {
    expect(await squad.run(['cancel'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('squad cancel --all'),
    });
    expect(await squad.run(['cancel', 'run_0000000000'])).toMatchObject({ code: 2 });
  });
});

describe('squad prune', () => {
  test('counts, then removes what ended long enough ago, with its files and never what lives', {
    tags: ['F9'],
  }, async () => {
    const alive = await detached(fenced('hang'));
    await running(alive);
    const before = await footprint(squad);
    expect((await squad.run(['prune', '--dry-run'])).stdout).toMatch(/^0 runs ended more than 30 days ago/);
    expect(await squad.json(['prune', '--dry-run', '--days', '0'])).toMatchObject({
      runs: before.runs - 1,
      bytes: null,
      dryRun: true,
    });
    expect(await footprint(squad)).toEqual(before);
    const pruned = await squad.json<{ runs: number; bytes: number }>(['prune', '--days', '0']);
    expect(pruned).toMatchObject({ runs: before.runs - 1, days: 0, dryRun: false });
    expect(pruned.bytes).toBeGreaterThan(1000);
    expect(await footprint(squad)).toEqual({ squads: 1, runs: 1, folders: [alive] });
    expect(existsSync(join(squad.home, 'runs', talker))).toBe(false);
    expect(await squad.run(['show', talker])).toMatchObject({ code: 2 });
    expect((await storedEvents(squad)).at(-1)).toMatchObject({
      type: 'runs.pruned',
      data: { runs: pruned.runs, bytes: pruned.bytes },
    });
    await squad.run(['cancel', alive]);
  });

  test.each(['soon', '-1'])('refuses days that are none: %s', async days => {
    expect(await squad.run(['prune', `--days=${days}`])).toMatchObject({ code: 2 });
  });
});
