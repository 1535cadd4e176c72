import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Worktree } from '../../../src/schema/worktree.ts';
import { GitSquad, script, scriptOf } from '../../support/git-squad.ts';
import { until } from '../../support/squad.ts';

const squad = new GitSquad({
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: '---\ntype: review\n---\nYou review.',
});

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Shown {
  run: {
    status: string;
    turn: number;
    worktree: Worktree;
    notes: string[];
    error: { code: string; message: string } | null;
  };
  turns: { endedAt: number | null }[];
  result: { result: string };
}
const shown = (id: string) => squad.shown<Shown>(id);
const promptOf = (id: string, turn: number) =>
  readFileSync(join(squad.home, 'runs', id, `turn-${turn}`, 'prompt.md'), 'utf8');
const ask = `call request_review ${JSON.stringify({ reviewer_prompt: script('hang') })}`;

/** A coder that waits for its review while no turn is running. */
async function waiting(...then: string[]): Promise<{ id: string; worktree: Worktree }> {
  const task = `Build it.${script('write a.txt', '| a', ask)}${scriptOf(2, ...then)}`;
  const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', task]);
  const [id] = runIds;
  const { run } = await until('it waits without a turn', async () => {
    const found = await shown(id);
    return found.run.status === 'waiting_review' && found.turns.at(-1)?.endedAt !== null && found;
  });
  return { id, worktree: run.worktree };
}

async function answered(id: string): Promise<Shown> {
  await squad.run(['review', id, '--feedback', 'Go on.', '--type', 'suggestions']);
  await squad.run(['wait', id]);
  return shown(id);
}

describe('a work tree that is gone when its run goes on', () => {
  test('is made again from its branch, and the agent and the run say so', async () => {
    const { id, worktree } = await waiting('run cat a.txt');
    rmSync(worktree.path, { recursive: true });
    const { run, result } = await answered(id);
    expect(run).toMatchObject({ status: 'completed', turn: 2 });
    expect(result.result).toContain('a');
    const words = `The work tree was gone and was created again from its branch ${worktree.branch}`;
    expect(run.notes.join(' ')).toContain(words);
    expect(promptOf(id, 2)).toContain(words);
  });

  test('comes back with its branch from what was reviewed, where that is gone too', async () => {
    const { id, worktree } = await waiting('run cat a.txt');
    // After the feedback its turn begins at once: both go before it.
    rmSync(worktree.path, { recursive: true });
    squad.git('worktree', 'prune');
    squad.git('branch', '-D', worktree.branch);
    await squad.run(['review', id, '--cancel']);
    await squad.run(['wait', id]);
    const { run, result } = await shown(id);
    expect(run).toMatchObject({ status: 'completed', turn: 2 });
    expect(result.result).toContain('a');
    expect(run.notes.join(' ')).toContain('created again from the commit that was reviewed last');
    expect(squad.git('show', `${worktree.branch}:a.txt`)).toBe('a');
  });

  test('with nothing left of it the run fails instead of beginning anew', async () => {
    const { runIds } = await squad.json<{ runIds: [string] }>([
      ...['run', '-d', 'coder', `Build it.${script('write b.txt', '| b')}`],
    ]);
    await squad.run(['wait', runIds[0]]);
    const { worktree } = (await shown(runIds[0])).run;
    squad.gitIn(worktree.path, 'checkout', '-q', '--detach');
    squad.git('worktree', 'remove', '--force', worktree.path);
    squad.git('branch', '-D', worktree.branch);
    const reply = await squad.json<{ runIds: [string] }>(['reply', '-d', runIds[0], 'Go on.']);
    await squad.run(['wait', reply.runIds[0]]);
    const { run } = await shown(reply.runIds[0]);
    expect(run).toMatchObject({ status: 'error', error: { code: 'WORKTREE_MISSING' } });
    expect(run.error?.message).toContain(worktree.branch);
  });

  test('tells a reply where what was saved from it is', async () => {
    const { runIds } = await squad.json<{ runIds: [string] }>([
      ...['run', '-d', 'coder', `Build it.${script('write b.txt', '| b')}`],
    ]);
    await squad.run(['wait', runIds[0]]);
    await squad.run(['worktrees', 'prune', runIds[0]]);
    const ref = `refs/squad/saved/${runIds[0]}`;
    expect(squad.git('show', `${ref}:b.txt`)).toBe('b');
    const reply = await squad.json<{ runIds: [string] }>(['reply', '-d', runIds[0], 'Go on.']);
    await squad.run(['wait', reply.runIds[0]]);
    const { run } = await shown(reply.runIds[0]);
    expect(run).toMatchObject({ status: 'completed', error: null });
    expect(run.notes.join(' ')).toContain(`git checkout ${ref} -- .`);
  });
});
