import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IS_SANDBOXED } from '../support/confine-by-default.ts';
import { until } from './patience.ts';
import { isAlive, kill, processesOfRuns } from './processes.ts';
import {
  ask,
  endOf,
  eventsOf,
  holdDatabase,
  isRefused,
  openHome,
  processesOf,
  show,
  sideOf,
  started,
  turnFile,
} from './scenario.ts';

const LONG = 'long lines 1200 0.05 0';
const wrapperOf = (home: Parameters<typeof turnFile>[0], id: string): number =>
  Number(readFileSync(turnFile(home, id, 'pid'), 'utf8'));

test.each(['alive', 'dead'])(
  'a wrapper killed with -9 while the hub is %s: lost, its output kept, its agents ended',
  async hub => {
    const home = await openHome();
    const [id] = (await ask(home, [['plain', LONG]])) as [string];
    await started(home, 'long');
    if (hub === 'dead') await home.killHub();
    kill(wrapperOf(home, id), 'SIGKILL');
    const { run, turns } = await endOf(home, id);
    expect(run).toMatchObject({ status: 'lost', error: { code: 'LOST' } });
    expect(turns[0]?.exitCode).toBeNull();
    // In a sandbox the kernel has ended the agent with its wrapper.
    if (!IS_SANDBOXED)
      expect(turns[0]?.leftovers.map(({ command }) => command)).toContainEqual(expect.stringContaining(LONG));
    expect(readFileSync(turnFile(home, id, 'stdout'), 'utf8')).toMatch(/^1 Grüße ✓ 日本語 😀\n/);
    expect(processesOf(id)).toEqual([]);
  },
);

test('a run folder removed while the hub is down: lost with the reason, and its agent is ended', {
  tags: ['D10'],
}, async () => {
  const home = await openHome();
  const [gone, kept] = (await ask(home, [
    ['plain', LONG],
    ['plain', 'kept lines 20 0.05 0'],
  ])) as [string, string];
  await Promise.all([started(home, 'long'), started(home, 'kept')]);
  await home.killHub();
  rmSync(`${home.home}/runs/${gone}`, { recursive: true });
  expect((await endOf(home, gone)).run).toMatchObject({
    status: 'lost',
    error: { code: 'LOST', message: expect.stringContaining('folder is gone') },
  });
  expect(processesOf(gone)).toEqual([]);
  expect((await endOf(home, kept)).run.status).toBe('completed');
});

test('a run folder that cannot be read any more costs that run, not the hub', { tags: ['S11'] }, async () => {
  const home = await openHome();
  const [broken, kept] = (await ask(home, [
    ['plain', LONG],
    ['plain', 'kept lines 20 0.05 0'],
  ])) as [string, string];
  await Promise.all([started(home, 'long'), started(home, 'kept')]);
  await home.killHub();
  writeFileSync(turnFile(home, broken, 'plan.json'), '');
  expect((await endOf(home, broken)).run).toMatchObject({
    status: 'lost',
    error: { message: expect.stringContaining('plan.json') },
  });
  expect(processesOf(broken)).toEqual([]);
  expect((await endOf(home, kept)).run.status).toBe('completed');
});

test('after a reboot a wrapper’s number belongs to a stranger: the run is lost, the stranger is left alone', {
  tags: ['S11'],
}, async () => {
  const home = await openHome();
  const [id] = (await ask(home, [['plain', LONG]])) as [string];
  await started(home, 'long');
  await home.killHub();
  const mine = processesOfRuns(new Set([id])).map(({ pid }) => pid);
  for (const pid of mine) kill(pid, 'SIGKILL');
  await until('the end of all that ran', () => !mine.some(isAlive));
  const stranger = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void stranger.kill('SIGKILL'));
  writeFileSync(turnFile(home, id, 'pid'), `${stranger.pid}\n`);

  const { run, turns } = await endOf(home, id);
  expect(run).toMatchObject({ status: 'lost', error: { code: 'LOST' } });
  expect(turns[0]?.leftovers).toEqual([]);
  expect(isAlive(stranger.pid!)).toBe(true);
});

test('a hub that is asked to end lets its agents go on, and the next one watches them', {
  tags: ['D10'],
}, async () => {
  const home = await openHome();
  const [id] = (await ask(home, [['plain', 'calm held 30 0 3']])) as [string];
  await started(home, 'calm');
  const [hub] = home.hubPids();
  kill(hub!, 'SIGTERM');
  await until('the end of the hub', () => !isAlive(hub!));
  expect(sideOf(home, 'calm')).not.toContain('end');
  const link = await home.hub();
  expect((await show(link, id)).run.status).toBe('running');
  link.close();
  writeFileSync(join(home.side, 'calm.go'), '');
  const { run, turns } = await endOf(home, id);
  expect(run).toMatchObject({ status: 'error', error: { code: 'ENGINE_FAILED', message: 'exit code 3' } });
  expect(turns).toMatchObject([{ exitCode: 3 }]);
  expect(readFileSync(turnFile(home, id, 'stdout'), 'utf8').split('\n')).toHaveLength(31);
  const types = (await eventsOf(home)).map(({ body }) => body.type);
  expect(types.filter(type => type === 'hub.stopped' || type === 'hub.recovered')).toEqual([
    'hub.stopped',
    'hub.recovered',
  ]);
});

test('queued runs start after the restart, in their old order and within the limit', {
  tags: ['F2'],
}, async () => {
  const home = await openHome();
  await home.set('limits.concurrency', 1);
  const tags = ['one', 'two', 'three', 'four', 'five', 'six'];
  const ids = await ask(
    home,
    tags.map(tag => ['plain', `${tag} lines 4 0.05 0`]),
  );
  await started(home, 'one');
  await home.killHub();
  for (const id of ids) expect((await endOf(home, id)).run.status).toBe('completed');
  const order = (await eventsOf(home)).flatMap(({ body, runId }) =>
    body.type === 'run.started' || body.type === 'run.ended' ? `${body.type} ${runId}` : [],
  );
  expect(order).toEqual(ids.flatMap(id => [`run.started ${id}`, `run.ended ${id}`]));
  for (const tag of tags) expect(sideOf(home, tag).filter(line => line.startsWith('start'))).toHaveLength(1);
});

test('a chat that was being opened when the hub died is the one the run gets', async () => {
  const home = await openHome();
  const [id] = (await ask(home, [['plain', 'await-talk lines 2 0 0']], true)) as [string];
  await until('the create-chat command', () => sideOf(home, 'await-talk.chat').length > 0);
  await home.killHub();
  const link = await home.hub();
  expect((await show(link, id)).run.status).toBe('queued');
  link.close();
  writeFileSync(join(home.side, 'await-talk.go'), '');
  expect((await endOf(home, id)).run).toMatchObject({ status: 'completed', chatId: 'chat-await-talk' });
  expect(sideOf(home, 'await-talk.chat')).toEqual(['made chat-await-talk']);
  expect(sideOf(home, 'await-talk')[0]).toMatch(/^start \d+ run_\w+ chat-await-talk$/);
});

test('a chat’s id is on disk before the agent has it, so that no run forgets its chat', async () => {
  const home = await openHome();
  const [id] = (await ask(home, [['plain', 'await-talk lines 2 0 0']], true)) as [string];
  await until('the create-chat command', () => sideOf(home, 'await-talk.chat').length > 0);
  // While nothing can be written down the chat is opened, and the hub dies over it.
  const release = await holdDatabase(join(home.home, 'squad.db'));
  writeFileSync(join(home.side, 'await-talk.go'), '');
  await until('the hub to be held up', () => isRefused(home, 'keeps the database'));
  await home.killHub();
  release();
  expect((await endOf(home, id)).run).toMatchObject({ status: 'completed', chatId: 'chat-await-talk' });
  expect(sideOf(home, 'await-talk.chat')).toHaveLength(1);
  expect(sideOf(home, 'await-talk').filter(line => line.startsWith('start'))).toHaveLength(1);
});

test('a cancel that was written down while a chat was being opened holds after the hub died', {
  tags: ['S5'],
}, async () => {
  const home = await openHome();
  const link = await home.hub();
  const stopping = new Promise<void>(settle => {
    const onItem = (event: unknown) => {
      if ((event as { body: { type: string } }).body.type === 'run.stopping') settle();
    };
    link.call('follow_events', {}, { onItem }).catch(() => {}); // it ends with the hub
  });
  const [id] = (await ask(home, [['plain', 'await-talk lines 2 0 0']], true)) as [string];
  await until('the create-chat command', () => sideOf(home, 'await-talk.chat').length > 0);
  const cancelling = link.call('cancel_run', { spawn_id: id }).catch(() => {});
  await stopping;
  await home.killHub();
  await cancelling;
  expect((await endOf(home, id)).run).toMatchObject({ status: 'cancelled', error: null });
  expect(sideOf(home, 'await-talk')).toEqual([]);
  expect(processesOf(id)).toEqual([]);
  expect(existsSync(`${home.home}/runs/${id}/environment.json`)).toBe(false);
});

test('a limit that passes while leftovers of an ended agent are cleared away does not make it a timeout', async () => {
  const home = await openHome();
  // It ends at once and leaves a process that ignores TERM: clearing that away takes longer than its limit.
  writeFileSync(`${home.root}/roles/brief.md`, '---\ntimeout: 400ms\n---\nYou are brief.');
  const [id] = (await ask(home, [['brief', 'brief session 1 0 0']])) as [string];
  const { run, turns } = await endOf(home, id);
  const [turn] = turns;
  // A machine too busy to run it within its limit has nothing to show here.
  if (turn!.endedAt! > turn!.deadlineAt) return expect(run.status).toBe('timeout');
  expect(sideOf(home, 'brief')).toContain('end');
  expect(run).toMatchObject({ status: 'completed', error: null });
  expect(turn).toMatchObject({ exitCode: 0, stop: null, leftovers: IS_SANDBOXED ? [] : [{}] });
});
