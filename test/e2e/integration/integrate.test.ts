import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IntegrationPlan } from '../../../src/schema/integration.ts';
import type { Worktree } from '../../../src/schema/worktree.ts';
import { GitSquad, script } from '../../support/git-squad.ts';
import { Screen } from '../../support/screen.ts';
import { BIN } from '../../support/squad.ts';

const command = `${process.execPath} ${BIN}`;
const squad = new GitSquad({ coder: '---\nisolation: worktree\n---\nYou code.' });
beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

interface Answer {
  plan: IntegrationPlan;
  integrated: { to: string; merged: { runId: string }[] } | null;
}

/** Runs that write these files, each in a work tree of its own, all over. */
async function coders(...writes: [file: string, text: string][]): Promise<string[]> {
  const words = writes.flatMap(([file, text]) => [
    'coder',
    `Write ${file}.${script(`write ${file}`, `| ${text}`)}`,
  ]);
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...words]);
  await squad.run(['wait', ...runIds]);
  return runIds;
}
const treeOf = async (id: string) =>
  (await squad.json<{ run: { worktree: Worktree } }>(['show', id])).run.worktree;

test('branches of runs are looked at for overlap, tried, checked and merged', { tags: ['F6'] }, async () => {
  const before = squad.git('rev-parse', 'main');
  expect((await squad.run(['overlap'])).stdout).toContain('No overlap');
  const [one, other, alone] = await coders(
    ['shared.txt', 'one'],
    ['shared.txt', 'other'],
    ['alone.txt', 'x'],
  );
  const overlap = await squad.run(['overlap']);
  expect(overlap.stdout).toMatch(/shared\.txt\s/);
  expect([one!, other!].every(id => overlap.stdout.includes(id))).toBe(true);
  expect(overlap.stdout).not.toContain(alone!);

  const dry = await squad.run(['integrate', '--dry-run', '--check', 'exit 1']);
  expect(dry).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /conflicts in shared\.txt[\s\S]*✗ conflicts in 1 branch[\s\S]*– check not run/,
    ),
    stderr: '',
  });
  const refused = await squad.run(['integrate', '--yes', '--check', 'ls; exit 9']);
  expect(refused).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/✗ check failed \(exit code 9\)[\s\S]*alone\.txt/),
    stderr: expect.stringMatching(/Nothing was merged[\s\S]*CHECK_FAILED[\s\S]*output of the check above/),
  });
  expect(await squad.run(['integrate'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('ANSWER_NEEDED'),
  });
  expect(squad.git('rev-parse', 'main')).toBe(before);

  const done = await squad.run(['integrate', '--yes', '--remove', '--json', '--check', 'test -f alone.txt']);
  const { plan, integrated } = JSON.parse(done.stdout) as Answer;
  expect(done.code).toBe(1); // one is left out
  expect(plan.branches.map(({ outcome }) => outcome).sort()).toEqual(['conflict', 'merges', 'merges']);
  expect(plan.branches[0]).toMatchObject({ runId: alone, commitsWork: true });
  expect(squad.git('rev-parse', 'main')).toBe(integrated?.to);
  expect(squad.git('status', '--porcelain')).toBe('');
  expect(readFileSync(join(squad.workspace, 'alone.txt'), 'utf8')).toBe('x\n');
  expect(existsSync((await treeOf(alone!)).path)).toBe(false);
});

test('the next step is named where every branch conflicts', async () => {
  const { plan } = await squad.json<Answer>(['integrate', '--dry-run']);
  const [left] = plan.branches;
  const { code, stderr } = await squad.run(['integrate', '--yes']);
  expect(code).toBe(1);
  expect(stderr).toContain('Nothing was merged');
  expect(stderr).toContain(`squad reply ${left?.runId} 'Merge main into your branch`);
  await squad.run(['worktrees', 'prune', left!.runId]);
});

test('runs belong together by their repository, wherever in it they were asked for', async () => {
  const sub = join(squad.workspace, 'app');
  const linked = join(squad.root, 'linked');
  mkdirSync(sub);
  squad.git('worktree', 'add', '-q', '-b', 'side', linked);
  const start = async (cwd: string, file: string) => {
    const args = ['run', '-d', 'coder', `Write.${script(`write ${file}`, '| x')}`];
    const { runIds } = await squad.json<{ runIds: [string] }>(args, { cwd });
    await squad.run(['wait', ...runIds]);
    return runIds[0];
  };
  const ids = [
    await start(squad.workspace, 'app/both.txt'),
    await start(sub, 'both.txt'),
    await start(linked, 'app/both.txt'),
  ];
  for (const cwd of [squad.workspace, sub, linked, (await treeOf(ids[0]!)).path]) {
    const { files } = await squad.json<{ files: { path: string; runs: string[] }[] }>(['overlap'], { cwd });
    expect(files).toEqual([{ path: 'app/both.txt', runs: ids.toSorted() }]);
    const { worktrees } = await squad.json<{ worktrees: { runs: { id: string }[] }[] }>(['worktrees'], {
      cwd,
    });
    const listed = worktrees.flatMap(({ runs }) => runs.map(({ id }) => id));
    expect(listed).toEqual(expect.arrayContaining(ids));
  }
  const { plan } = await squad.json<Answer>(['integrate', '--dry-run', '--into', 'main'], { cwd: linked });
  expect(plan.folder).toBe(squad.workspace);
  expect(plan.branches.map(({ outcome }) => outcome)).toEqual(['merges', 'merges', 'merges']);
  await squad.run(['worktrees', 'prune', ...ids]);
});

test('a check that is configured and not trusted stops it, until it is trusted or gone without', async () => {
  const [id] = await coders(['checked.txt', 'x']);
  const settings = { check: ['test', '-f', 'ready'], worktree: { setup: ['touch', 'ready'] } };
  const file = squad.write('.squad/squad.json', JSON.stringify(settings));
  const before = squad.git('rev-parse', 'main');
  const untrusted = {
    code: 1,
    stdout: expect.stringContaining('✗ check not trusted'),
    stderr: expect.stringMatching(/CHECK_FAILED[\s\S]*squad trust[\s\S]*--no-check/),
  };
  expect(await squad.run(['integrate', id!, '--yes'])).toMatchObject(untrusted);
  expect(await squad.run(['integrate', id!, '--dry-run'])).toMatchObject({ ...untrusted, stderr: '' });
  const other = await squad.run(['integrate', id!, '--yes', '--check', 'test -f ready']);
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('CHECK_FAILED') });
  expect(other.stdout.replace(/\s+/g, ' ')).toContain(
    `Not used until you run \`squad trust\`: worktree in ${file}.`,
  );
  expect((await squad.run(['trust', '--yes'])).code).toBe(0);
  squad.write('.squad/squad.json', JSON.stringify({ ...settings, engine: 'scripted' }));
  expect(await squad.run(['integrate', id!, '--yes'])).toMatchObject(untrusted);
  expect(squad.git('rev-parse', 'main')).toBe(before);

  expect((await squad.run(['trust', '--yes'])).code).toBe(0);
  const trusted = await squad.json<Answer>(['integrate', id!, '--dry-run']);
  expect(trusted.plan).toMatchObject({ blocked: null, warnings: [], check: { outcome: 'not_run' } });
  expect((await squad.run(['integrate', id!, '--yes'])).code).toBe(0);
  rmSync(file);
});

test('a named branch that cannot be merged is a failure', async () => {
  const [id] = await coders(['late.txt', 'x']);
  expect((await squad.run(['worktrees', 'prune', id!])).code).toBe(0);
  expect(await squad.run(['integrate', id!, '--yes'])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/Nothing to integrate[\s\S]*is gone/),
  });
  expect((await squad.run(['integrate', '--yes'])).code).toBe(0);
});

test('an answer that is no merges nothing, and says so; nothing is cut at 80 columns', async () => {
  const [one, other] = await coders(['two.txt', 'one'], ['two.txt', 'other']);
  const screens = [
    Screen.open(squad, ['integrate'], { columns: 80 }),
    Screen.open(squad, ['overlap'], { columns: 80 }),
    Screen.open(squad, ['worktrees'], { columns: 80 }),
  ] as const;
  const [asking, overlap, worktrees] = screens;
  try {
    await asking.shows('[y/N]');
    asking.press('n', 'Enter');
    expect((await asking.ended()).code).toBe(3);
    expect(asking.lines()).toContain('Nothing was merged.');
    await overlap.ended();
    const among = [one!, other!].toSorted().map(id => `${id} coder`);
    expect(overlap.lines().slice(0, 2)).toEqual(['two.txt', `  ${among.join(', ')}`]);
    await worktrees.ended();
    expect(worktrees.lines()).toContain(`  branch squad/coder/${one}`);
  } finally {
    for (const screen of screens) screen.close();
  }
});

test('agents may neither plan nor merge', async () => {
  const before = squad.git('rev-parse', 'main');
  const { runIds } = await squad.json<{ runIds: string[] }>([
    ...[
      'run',
      '-d',
      // Inside a sandbox the command reaches no hub that could refuse it.
      ...['--sandbox', 'off'],
      'coder',
      `Write.${script('write late.txt', '| late', `try ${command} integrate --yes`, `try ${command} overlap`)}`,
    ],
  ]);
  await squad.run(['wait', ...runIds]);
  const { result } = await squad.json<{ result: { result: string } }>(['show', ...runIds]);
  expect(result.result.match(/\(NOT_ALLOWED\)/g)).toHaveLength(2);
  expect(squad.git('rev-parse', 'main')).toBe(before);
});
