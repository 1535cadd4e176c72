import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hubPid } from '../../../src/link/hub-record.ts';
import { TestBox } from '../../support/box.ts';
import { GitSquad } from '../../support/git-squad.ts';
import { until } from '../../support/squad.ts';

let squad: GitSquad;
let boxes: [TestBox, TestBox];

beforeEach(async () => {
  squad = new GitSquad({
    coder: '---\nisolation: worktree\ntakeover: true\n---\nYou code.',
    careful: '---\nisolation: worktree\n---\nYou code.',
  });
  boxes = [new TestBox(squad, 'one'), new TestBox(squad, 'two')];
  for (const [at, box] of boxes.entries()) {
    await box.start();
    const label = ['--label', 'gpu=yes', '--ssh-config', box.sshConfig];
    expect(await squad.run(['machines', 'add', ['one', 'two'][at]!, 'box', ...label])).toMatchObject({
      code: 0,
    });
  }
  await squad.set('machines.lease_seconds', '10');
  await squad.set('tmux.sessions', 'off');
});

afterEach(async () => {
  for (const box of boxes) box.network.release();
  await boxes[0].remove(squad);
  await boxes[1].remove(squad);
});

interface Shown {
  run: {
    status: string;
    turn: number;
    notes: string[];
    error: { message: string } | null;
    options: { machine: 'one' | 'two'; attempt: { number: number } };
  };
}
const shown = async (id: string) => (await squad.shown<Shown>(id)).run;

/** An agent that says in a shared file who it is, until it may end. */
const WORK =
  'echo work >>done.txt; while [ ! -e $HOME/../../may-end ]; do echo "$HOME $(cut -d. -f1 /proc/uptime)" >>$HOME/../../beats; sleep 0.2; done';
const beats = (): string => {
  try {
    return readFileSync(join(squad.root, 'beats'), 'utf8');
  } catch {
    return '';
  }
};

async function start(role: string, on = 'gpu=yes'): Promise<{ id: string; at: 0 | 1 }> {
  const env = { RUN_TEMPLATE: `sh -c '${WORK}' x <%= it.promptFile %>`, ENGINE_COMMAND: '' };
  const args = ['run', '-d', '--on', on, role, 'Work'];
  const { runIds } = await squad.json<{ runIds: [string] }>(args, { env });
  const id = runIds[0];
  await until('it works', () => beats() !== '');
  return { id, at: (await shown(id)).options.machine === 'one' ? 0 : 1 };
}

const ended = (id: string) =>
  until(`${id} ends`, async () => !['queued', 'running'].includes((await shown(id)).status), 120_000);

/** The agent of each box was gone before that of another one began. */
function expectOneAtATime(): void {
  const order = beats()
    .trim()
    .split('\n')
    .map(line => line.split(' ')[0]);
  const changes = order.filter((home, at) => at > 0 && home !== order[at - 1]);
  expect(changes).toHaveLength(1);
}

test('a machine that is gone: its agent ends there, then another attempt starts elsewhere', {
  tags: ['H4'],
}, async () => {
  const { id, at } = await start('coder');
  const lost = boxes[at].home;
  boxes[at].network.hold();
  await until('another agent works', () => beats().includes(boxes[1 - at]!.home), 120_000);
  expect(agentsIn(lost)).toEqual([]);
  expectOneAtATime();
  expect(await shown(id)).toMatchObject({
    status: 'running',
    turn: 2,
    options: { machine: ['two', 'one'][at], attempt: { number: 2 } },
  });
  boxes[at].network.release();
  appendFileSync(join(squad.root, 'may-end'), '');
  await ended(id);
  const { status, notes } = await shown(id);
  expect({ status, notes: notes.join(' ') }).toMatchObject({
    status: 'completed',
    notes: expect.stringContaining('Attempt 1 on'),
  });
  // Only the work of one attempt is on its branch.
  expect((await squad.run(['diff', id])).stdout.match(/^\+work$/gm)).toHaveLength(1);
});

test('a hub that dies meanwhile: the next one waits for the lease as well', { tags: ['H4'] }, async () => {
  const { id, at } = await start('coder');
  boxes[at].network.hold();
  process.kill(hubPid(squad.home)!, 'SIGKILL');
  await squad.json(['ls']);
  await until('another agent works', () => beats().includes(boxes[1 - at]!.home), 120_000);
  expectOneAtATime();
  appendFileSync(join(squad.root, 'may-end'), '');
  await ended(id);
  expect(await shown(id)).toMatchObject({ status: 'completed' });
});

test('without takeover the agent goes on through a longer cut', { tags: ['H2', 'H4'] }, async () => {
  const { id, at } = await start('careful');
  boxes[at].network.hold();
  await until('it is away', async () => (await squad.run(['ls'])).stdout.includes('away'), 60_000);
  const before = beats().length;
  await until('it goes on', () => beats().length > before + 200, 60_000);
  boxes[at].network.release();
  appendFileSync(join(squad.root, 'may-end'), '');
  await ended(id);
  expect(await shown(id)).toMatchObject({ status: 'completed', turn: 1 });
});

/** Processes whose HOME is that of the box, without sshd's own. */
function agentsIn(home: string): string[] {
  const found = execFileSync(
    'sh',
    ['-c', 'grep -lz "^HOME=$1$" /proc/[0-9]*/environ 2>/dev/null || true', 'sh', home],
    {
      encoding: 'utf8',
    },
  );
  return found
    .split('\n')
    .filter(Boolean)
    .flatMap(path => {
      try {
        const args = readFileSync(path.replace('environ', 'cmdline'), 'utf8').replaceAll('\0', ' ');
        return args.includes('beats') ? [args] : [];
      } catch {
        return [];
      }
    });
}
