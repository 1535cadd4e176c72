import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SquadError } from '../../schema/error.ts';
import { BranchFixture, FEEDBACK } from '../testing/branch-fixture.ts';

let at: BranchFixture;
afterEach(() => at.remove());

/** SQUAD_RACE_ROUNDS for a longer look. */
const ROUNDS = Number(process.env.SQUAD_RACE_ROUNDS ?? 10);

/**
 * An agent that reads and commits until it is stopped, and records each commit that git reported. It pauses for zero to nine
 * tenths of a second between two commits, and longer the longer it goes on, so that feedback is given on any machine.
 */
const AGENT = `
n=0
while [ ! -e "$STOP" ]; do
  n=$((n+1))
  echo "$n" >"work $n.txt"
  if git add "work $n.txt" 2>/dev/null && git commit -q -m "Agent $n" 2>/dev/null
  then echo "Agent $n" >>"$DONE"; fi
  for look in 1 2 3 4 5; do git status >/dev/null; done
  tenths=$((n % 10 * (1 + n / 20)))
  sleep $((tenths / 10)).$((tenths % 10))
done
git add -A && git commit -q --allow-empty -m "Agent last" && echo "Agent last" >>"$DONE"
`;

test('an agent that commits all the time and feedback that comes all the time lose nothing of each other', async () => {
  at = new BranchFixture();
  const [stop, done] = [join(at.repo.folder, 'stop'), join(at.repo.folder, 'done')];
  const identity = {
    GIT_AUTHOR_NAME: 'A',
    GIT_COMMITTER_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@a',
    GIT_COMMITTER_EMAIL: 'a@a',
  };
  const env = { ...at.repo.env, ...identity, STOP: stop, DONE: done, GIT_CONFIG_NOSYSTEM: '1' };
  const agent = spawn('/bin/sh', ['-c', AGENT], { cwd: at.root, env, stdio: 'ignore' });
  const ended = once(agent, 'exit');

  const given: string[] = [];
  try {
    for (let round = 1; round <= ROUNDS; round++) given.push(await untilGiven(round));
  } finally {
    writeFileSync(stop, '');
    await ended;
  }

  const history = at.repo.git('log', '--format=%H %s', at.branch);
  for (const commit of given) expect(history).toContain(commit);
  const made = readFileSync(done, 'utf8').trim().split('\n');
  expect(made).toContain('Agent last');
  const subjects = new Set(at.subjects());
  expect(made.filter(subject => !subjects.has(subject))).toEqual([]);
  // Nobody took back what the other had committed.
  const touching = at.repo.git('log', '--format=%an', at.branch, '--', FEEDBACK).trim().split('\n');
  expect(new Set(touching)).toEqual(new Set(['Squad']));
  expect(at.shown(FEEDBACK)).toBe(`Round ${ROUNDS}\n`);
  expect(at.repo.git('log', '--diff-filter=D', '--format=%s', at.branch)).toBe('');
  expect(at.status()).toBe('');
  expect(at.repo.git('fsck', '--strict', '--no-dangling')).toBe('');
  expect(
    readdirSync(at.gitDir).filter(name => name.includes('squad-index') || name.endsWith('.lock')),
  ).toEqual([]);
}, 120_000);

async function untilGiven(round: number): Promise<string> {
  for (let tried = 0; tried < 200; tried++) {
    try {
      return (await at.feedback(`Round ${round}\n`, `Round ${round}`))!;
    } catch (thrown) {
      if (!(thrown instanceof SquadError && thrown.code === 'BRANCH_MOVED')) throw thrown;
    }
  }
  throw new Error('the agent was faster two hundred times');
}
