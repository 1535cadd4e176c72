import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { echoBlock, variable } from '../../servers/start.ts';
import { TestBox } from '../../support/box.ts';
import { script, scriptOf } from '../../support/git-squad.ts';
import { ReviewSquad } from '../../support/review-squad.ts';
import { until } from '../../support/squad.ts';

const CANARY = 'canary-5d2kQ8wZx7';
const squad = new ReviewSquad();
Object.assign(squad.env, { ECHO_SECRET: CANARY });
const countFile = join(squad.root, 'count');
const box = new TestBox(squad);

beforeAll(async () => {
  await squad.prepare();
  await box.start();
  const added = await squad.run(['machines', 'add', 'box', 'box', '--ssh-config', box.sshConfig]);
  expect(added).toMatchObject({ code: 0 });
  const env = { SECRET: variable('ECHO_SECRET'), COUNT_FILE: countFile };
  squad.write(
    '.squad/mcp-config.json',
    JSON.stringify({ servers: { echo: echoBlock({ env }) }, agentServers: { coder: ['echo'] } }),
  );
  expect(await squad.run(['trust', '-y', '.squad/mcp-config.json'])).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await box.remove(squad);
});

const start = async (task: string): Promise<string> =>
  (await squad.json<{ runIds: [string] }>(['run', '-d', '--on', 'box', 'coder', task])).runIds[0];

interface Shown {
  run: { status: string; turn: number; options: { machine: string }; worktree: { branch: string } };
  result: { result: string };
}
const shown = (id: string) => squad.shown<Shown>(id);

test('a coder on a box asks for a review, and continues with the feedback', { tags: ['H3'] }, async () => {
  const feedback = { feedback: 'Say why.', feedback_type: 'suggestions' };
  const review = { reviewer_prompt: script(`call send_feedback ${JSON.stringify(feedback)}`) };
  const id = await start(
    `Build it.${script('write a.txt', '| a', `call request_review ${JSON.stringify(review)}`)}${scriptOf(2, 'write b.txt', '| b', 'report Heard.')}`,
  );
  await squad.run(['wait', id]);
  const { run, result } = await shown(id);
  expect(run).toMatchObject({ status: 'completed', turn: 2 });
  expect(result.result).toContain('Heard.');
  const { reviews } = await squad.json<{ reviews: { reviewerId: string }[] }>(['review', id]);
  expect((await shown(reviews[0]!.reviewerId)).run.options.machine).toBe('box');
  const { branch } = run.worktree;
  expect(squad.git('show', `${branch}:a.txt`)).toContain('a');
  expect(squad.git('show', `${branch}:REVIEW_FEEDBACK.md`)).toContain('Say why.');
  expect((await squad.run(['diff', id])).stdout).toContain('b.txt');
});

test('a question asked before a cut is answered after it, once', { tags: ['H2', 'H3'] }, async () => {
  const id = await start(`Ask.${script('call ask_user {"question":"Which colour?"}', 'report Done.')}`);
  const item = await until('it asks', async () => {
    const { items } = await squad.json<{ items: { id: string; runId: string }[] }>(['inbox']);
    return items.find(({ runId }) => runId === id) ?? null;
  });
  for (const pid of box.sessions()) kill(pid);
  await squad.run(['answer', item.id, 'Green']);
  await squad.run(['wait', id]);
  expect((await shown(id)).run.status).toBe('completed');
  const log = (await squad.run(['log', '--raw', id])).stdout;
  expect(log.match(/Green/g)).toHaveLength(1);
});

test('calls of a server through ten cuts are each carried out once, and all are answered', {
  tags: ['H3'],
}, async () => {
  const calls = Array.from({ length: 60 }, (_, n) => `call echo__count {"nonce":"call-${n}-"}`);
  const paced = calls.flatMap(line => [line, 'sleep 100']);
  const id = await start(`Count.${script(...paced, 'report Done.')}`);
  const counted = () => (existsSync(countFile) ? readFileSync(countFile, 'utf8') : '');
  for (let cut = 1; cut <= 10; cut++) {
    await until(`call ${cut * 5} is made`, () => counted().includes(`call-${cut * 5}-`), 60_000);
    box.network.cut();
  }
  await squad.run(['wait', id]);
  expect((await shown(id)).run.status).toBe('completed');
  const made = counted().match(/call-\d+-/g) ?? [];
  expect(made).toHaveLength(60);
  expect(new Set(made)).toHaveLength(60);
  const log = (await squad.run(['log', '--raw', id])).stdout;
  expect(log).not.toContain('HUB_RESTARTED');
});

test('no secret of the hub is on the box', { tags: ['H3'] }, async () => {
  const token = execFileSync('cat', [`${squad.home}/token`], { encoding: 'utf8' }).trim();
  const grep = (text: string) =>
    execFileSync('sh', ['-c', 'grep -rlF -- "$1" "$2" || true', 'sh', text, box.home], { encoding: 'utf8' });
  expect(grep(token)).toBe('');
  expect(grep(CANARY)).toBe('');
  const environments = execFileSync(
    'sh',
    [
      '-c',
      'grep -laz "^HOME=$1$" /proc/[0-9]*/environ 2>/dev/null | xargs -r grep -laF -- "$2" || true',
      'sh',
      box.home,
      CANARY,
    ],
    { encoding: 'utf8' },
  );
  expect(environments).toBe('');
  expect(grep(squad.home)).toBe('');
});

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}
