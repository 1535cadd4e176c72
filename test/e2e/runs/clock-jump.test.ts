import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hubPid } from '../../../src/link/hub-record.ts';
import { hubArguments } from '../../../src/link/start-hub.ts';
import type { ShownItem } from '../../../src/operations/inbox/inbox.ts';
import { figure } from '../../faults/figures.ts';
import { askHub } from '../../support/ask-hub.ts';
import { callTool, TestSquad, until } from '../../support/squad.ts';
import type { Squad } from '../../support/tools.ts';

const MINUTE = 60_000;
const CLOCK = join(import.meta.dirname, '..', '..', 'support', 'settable-clock.cjs');
const HUB = join(import.meta.dirname, '..', '..', '..', 'dist', 'hub.cjs');

const script = (...lines: string[]) => `\`\`\`script\n${lines.join('\n')}\n\`\`\``;

/** A Squad whose hub has a clock that can be set. */
class ClockSquad extends TestSquad {
  private readonly clock = join(this.root, 'clock.json');

  constructor() {
    super({ ENGINE_COMMAND: 'scripted', SQUAD_AGENTS_DIR: 'roles' });
    this.write('roles/coder.md', 'You code.');
    this.write('roles/hasty.md', '---\nstall: 4s\n---\nYou have little time.');
  }

  async startHub(): Promise<number> {
    const args = ['--require', CLOCK, ...hubArguments(HUB)];
    const env = { ...this.env, CLOCK_FILE: this.clock };
    spawn(process.execPath, args, { cwd: '/', env, detached: true, stdio: 'ignore' }).unref();
    return until('the hub answers', () =>
      askHub(this, 'hub_status').then(
        () => hubPid(this.home),
        () => null,
      ),
    );
  }

  async setClock(by: number): Promise<void> {
    writeFileSync(this.clock, JSON.stringify({ by, at: Date.now() }));
    await until('the hub has the time', () => existsSync(`${this.clock}.taken`));
  }

  async begin(task: string, more: object = {}, roleId = 'coder'): Promise<string> {
    const input = { timeoutMs: 50 * MINUTE, ...more, members: [{ roleId, task }] };
    const { runIds } = await askHub<{ runIds: string[] }>(this, 'start_squad', input);
    return runIds[0]!;
  }

  async ended(id: string): Promise<{ status: string; code?: string }> {
    return until(
      `the end of ${id}`,
      async () => {
        const { run } = await askHub<{ run: Shown }>(this, 'show_run', { run: id });
        return run.endedAt !== null && { status: run.status, code: run.error?.code };
      },
      60_000,
    );
  }
}

interface Shown {
  status: string;
  endedAt: number | null;
  error: { code: string } | null;
}

test.each([
  ['set an hour ahead', 60 * MINUTE, false],
  ['set an hour back', -60 * MINUTE, false],
  // The monotonic clock stands still while a machine sleeps.
  ['ten minutes ahead after a sleep of the machine', 10 * MINUTE, true],
])(
  'with a clock that is %s no limit ends anything early, and none ends never',
  { tags: ['R23'] },
  async (what, by, sleeps) => {
    await using squad = new ClockSquad();
    const hub = await squad.startHub();
    await squad.set('stop.grace_ms', '200');
    const go = join(squad.root, 'go');
    const long = script(`await ${go}`, 'say done');
    const client = await squad.client({ env: { PROCESS_TIMEOUT_MS: String(5 * MINUTE) } });
    const members = [{ roleId: 'coder', task: long }];
    const waiting = callTool<Squad>(client, 'start_squad_members', { members });
    waiting.catch(() => {}); // it is looked at in the end
    const fails = await squad.begin(script(`await ${go}`, 'fail on purpose'));
    const asks = await squad.begin(script('ask Go on?', 'say went on'));
    const cancelled = await squad.begin(script('hang'));
    const timed = await squad.begin(script('hang'), { timeoutMs: 6_000 });
    const stalls = await squad.begin(script('hang'), {}, 'hasty');
    const running = [fails, asks, cancelled, timed, stalls];
    for (const id of running) await until(`${id} runs`, async () => (await squad.statusOf(id)) === 'running');
    const question = await until('the question', async () => {
      const { items } = await askHub<{ items: ShownItem[] }>(squad, 'list_inbox', { state: 'open' });
      return items.find(({ runId }) => runId === asks);
    });
    await squad.set('limits.spawns_per_minute', String(running.length + 1));

    if (sleeps) process.kill(hub, 'SIGSTOP');
    const isSet = squad.setClock(by);
    if (sleeps) process.kill(hub, 'SIGCONT');
    await isSet;

    await expect(squad.begin('too many')).rejects.toMatchObject({ code: 'SPAWN_RATE_LIMIT' });
    await askHub(squad, 'answer_question', { item: question.id, answer: 'yes' });
    expect(await squad.ended(asks)).toEqual({ status: 'completed' });
    await askHub(squad, 'cancel_run', { spawn_id: cancelled });
    expect(await squad.ended(cancelled)).toEqual({ status: 'cancelled' });
    expect(await squad.ended(timed)).toEqual({ status: 'timeout' });
    expect(await squad.ended(stalls)).toEqual({ status: 'error', code: 'STALLED' });
    expect(await squad.statusOf(fails)).toBe('running');
    writeFileSync(go, '');
    expect(await squad.ended(fails)).toEqual({ status: 'error', code: 'ENGINE_FAILED' });
    expect((await waiting).members[0]).toMatchObject({ status: 'completed' });
    figure('R23', { reached: 1, of: 1, told: `a clock ${what}` });
  },
);
