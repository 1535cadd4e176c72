import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Screen } from '../../support/screen.ts';
import { BIN, ended, isAlive, TestSquad, until } from '../../support/squad.ts';

let squad: TestSquad;
let screens: Screen[];

beforeEach(async () => {
  squad = new TestSquad();
  screens = [];
  await squad.json(['config', 'set', 'tmux.sessions', 'all']);
});
afterEach(async () => {
  for (const screen of screens) screen.close();
  await squad[Symbol.asyncDispose]();
});

/** Asks the server that the hub's environment names. */
const tmux = (...args: string[]): string =>
  spawnSync('tmux', args, { encoding: 'utf8', env: squad.env, cwd: '/' }).stdout;
const sessions = () => tmux('list-sessions', '-F', '#{session_name}').split('\n').filter(Boolean);
const window = (id: string) => tmux('capture-pane', '-p', '-t', `=squad-${id}:`);

function terminal(...args: string[]): Screen {
  const screen = Screen.open(squad, args);
  screens.push(screen);
  return screen;
}

/** Says a word, and one more for each file `go-1`, `go-2`. */
const TALK = [
  'Talk.',
  '```script',
  'say one',
  'await go-1',
  'say two',
  'await go-2',
  'say three',
  '```',
].join('\n');

async function talking(task = TALK): Promise<string> {
  const started = await squad.json<{ runIds: [string] }>([
    'run',
    '-d',
    '--engine',
    'scripted',
    'coder',
    task,
  ]);
  const [id] = started.runIds;
  await until('it talks', async () => (await squad.run(['log', id])).stdout.includes('one'));
  return id;
}

const shown = async (id: string) =>
  (await squad.json<{ run: { status: string; notes: string[]; chatId: string } }>(['show', id])).run;

test('a running run has a session with its live log, and an ended run has none', {
  tags: ['D6'],
}, async () => {
  const id = await talking();
  await until('the window shows the log', () => window(id).includes('one'));
  squad.write('go-1', '');
  await until('the window goes on', () => window(id).includes('two'));
  expect(sessions()).toEqual([`squad-${id}`]);
  squad.write('go-2', '');
  await until('no session', () => sessions().length === 0);
  expect((await shown(id)).status).toBe('completed');
});

test('attach shows the session; leaving it lets the run go on, and its end closes it', {
  tags: ['D6'],
}, async () => {
  const id = await talking();
  const first = terminal('attach', id);
  await first.shows('one');
  await first.shows(`squad-${id}`);
  first.press('C-b', 'd');
  expect((await first.ended()).code).toBe(0);
  expect(first.lines().join('\n')).toContain(`${id} continues: running`);

  tmux('kill-session', '-t', `=squad-${id}`);
  const second = terminal('attach', id.slice(4, 10));
  await second.shows('one');
  squad.write('go-1', '');
  await second.shows('two');
  squad.write('go-2', '');
  expect((await second.ended()).code).toBe(0);
  expect(second.lines().join('\n')).toContain(`${id} has ended: done`);
});

test('inside tmux the client is switched to the session, which Ctrl-C does not end, and back at the end of the run', async () => {
  const id = await talking();
  tmux('new-session', '-d', '-s', 'mine', '-x', '100', '-y', '30', '-c', squad.workspace, 'sh');
  // A client of the same server, on a terminal of its own.
  const outer = ['-L', 'outer', '-f', '/dev/null'];
  spawnSync(
    'tmux',
    [...outer, 'new-session', '-d', '-x', '100', '-y', '30', 'env -u TMUX tmux attach -t =mine'],
    {
      env: { ...squad.env, TERM: 'xterm-256color' },
    },
  );
  const place = () => tmux('list-clients', '-F', '#{client_session}').trim();
  await until('the client is there', () => place() === 'mine');
  tmux(
    'send-keys',
    '-t',
    '=mine:',
    `SQUAD_HOME='${squad.home}' '${process.execPath}' '${BIN}' attach ${id}`,
    'Enter',
  );
  await until('the client is elsewhere', () => place() === `squad-${id}`);
  await until('the log', () => window(id).includes('one'));
  for (const key of ['C-c', 'C-\\']) {
    tmux('clear-history', '-t', `=squad-${id}:`);
    tmux('send-keys', '-R', '-t', `=squad-${id}:`, key);
    await until(`${key} is answered`, () => window(id).includes('the run continues'));
  }
  squad.write('go-1', '');
  await until('the log goes on', () => window(id).includes('two'));
  expect(place()).toBe(`squad-${id}`);
  squad.write('go-2', '');
  await until('the client is back', () => place() === 'mine');
  await until('no session', () => !sessions().includes(`squad-${id}`));
  tmux('kill-session', '-t', '=mine');
});

test('without a terminal, and without tmux, attach is the log and says why', async () => {
  const id = await talking();
  const attached = squad.start(['attach', id]);
  const end = ended(attached);
  await once(attached.stdout!, 'data');
  squad.write('go-1', '');
  squad.write('go-2', '');
  const { code, stdout, stderr } = await end;
  expect(stdout).toContain('one\ntwo\nthree\n');
  expect(stderr).toContain('because this is not a terminal');
  expect(code).toBe(0);
});

test('with sessions switched off a terminal gets the log, after a note that breaks between words', async () => {
  await squad.json(['config', 'set', 'tmux.sessions', 'off']);
  const id = await talking();
  const screen = Screen.open(squad, ['attach', id], { columns: 60 });
  screens.push(screen);
  await screen.shows('one');
  expect(screen.lines().join(' ')).toContain(
    `${id}: showing its log, because tmux is not installed, or tmux.sessions is off. Ctrl-C leaves; the run continues. one`,
  );
  expect(sessions()).toEqual([]);
});

test('of a run that has ended, attach says so and what can be done', async () => {
  const id = await talking('Talk.\n```script\nsay one\n```');
  await squad.run(['wait', id]);
  const { code, stdout } = await squad.run(['attach', id]);
  expect([code, stdout]).toEqual([0, expect.stringContaining(`${id} has ended: done`)]);
  expect(stdout).toContain(`squad reply ${id}`);
  expect(stdout).not.toContain('--take-over');
  expect(await squad.json(['attach', id])).toMatchObject({
    ...{ run_id: id, is_over: true, session_name: null },
    goes_on_by: { reply: true, take_over: false },
  });
  const { stderr } = await squad.run(['attach', id, '--take-over']);
  expect(stderr).toContain('CHAT_UNKNOWN');
  expect(stderr).toContain(`squad log ${id}`);
  expect(stderr).not.toContain('squad cancel');
  expect((await squad.run(['attach', 'run_zzzzzzzzzz'])).stderr).toContain('RUN_UNKNOWN');
});

test('a window starts no hub; the next hub ends those whose run is over and keeps the others', {
  tags: ['D6'],
}, async () => {
  const [over, live] = [await talking(), await talking('Talk.\n```script\nsay one\nhang\n```')];
  await until('both windows', () => window(over).includes('one') && window(live).includes('one'));
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  await until('the windows know', () => [over, live].every(id => window(id).includes('waiting for the hub')));
  squad.write('go-1', '');
  squad.write('go-2', '');
  await until('the agent has ended', () => existsSync(join(squad.home, 'runs', over, 'turn-1', 'exit')));
  expect((await squad.json<{ running: boolean }>(['hub', 'status'])).running).toBe(false);
  expect(sessions().length).toBe(2);
  await squad.hubPid();
  await until('one session', () => sessions().length === 1);
  expect(sessions()).toEqual([`squad-${live}`]);
});

/** A Claude Code that works until it is stopped, and at a terminal says how it was opened. */
function fakeClaude(more = ''): Record<string, string> {
  squad.script(
    'fakes/claude',
    `case "$1" in
--version) echo "2.1.325 (Claude Code)";;
--resume) printf 'opened %s in %s key=%s run=%s token=%s\\n' "$*" "$PWD" "$ANTHROPIC_API_KEY" "$SQUAD_RUN_ID" "$SQUAD_TOKEN"${more}; read line; echo "heard $line"; exit 7;;
*) for word; do [ "$last" = --session-id ] && chat=$word; last=$word; done
   echo '{"type":"system","subtype":"init","session_id":"'\${FAKE_CHAT-$chat}'","model":"m"}'; exec tail -f /dev/null;;
esac`,
  );
  return {
    PATH: `${join(squad.workspace, 'fakes')}:${squad.env.PATH}`,
    ANTHROPIC_API_KEY: 'only-the-run-has-it',
  };
}

async function claudeAtWork(env: Record<string, string> = {}): Promise<{ id: string; chatId: string }> {
  const started = await squad.json<{ runIds: [string] }>(
    ['run', '-d', '--engine', 'claude', '--permission', 'edit', 'coder', 'Work'],
    { env: { ...fakeClaude(), ...env } },
  );
  const [id] = started.runIds;
  await until('it is running', async () => (await shown(id)).status === 'running');
  return { id, chatId: (await shown(id)).chatId };
}

test('take-over asks, ends the run and opens its engine on the chat, with what the agent had', {
  tags: ['D6'],
}, async () => {
  const { id, chatId } = await claudeAtWork();
  const no = terminal('attach', id, '--take-over');
  await no.shows('Take over? [y/N]');
  await no.shows(`This stops ${id} (running)`);
  no.press('n', 'Enter');
  expect((await no.ended()).code).toBe(0);
  expect((await shown(id)).status).toBe('running');

  const yes = terminal('attach', id, '--take-over');
  await yes.shows('Take over? [y/N]');
  yes.press('y', 'Enter');
  await yes.shows('opened --resume');
  const words = yes.lines().join('').replace(/\s+/g, ' ');
  expect(words).toContain(
    `opened --resume ${chatId} in ${squad.workspace} key=only-the-run-has-it run= token=`,
  );
  expect(await shown(id)).toMatchObject({ status: 'cancelled', notes: ['taken over at a terminal'] });
  yes.press('hello', 'Enter');
  await yes.shows('heard hello');
  expect((await yes.ended()).code).toBe(7);
  await yes.shows(`squad reply ${id}`);

  const over = await squad.run(['attach', id]);
  expect(over.stdout).toContain(`squad attach ${id} --take-over`);
  const piped = await squad.run(['attach', id, '--take-over']);
  expect(piped.stderr).toContain(`squad reply ${id}`);
  expect(piped.stderr).not.toContain('squad cancel');
  // Over already: nothing to end, so nothing to ask.
  const again = terminal('attach', id, '--take-over');
  await again.shows(`opened --resume ${chatId}`);
});

test('take-over of a sandboxed run opens its engine in the same sandbox', {
  tags: ['D6', 'I1'],
}, async () => {
  const secret = join(squad.root, 'outside.txt');
  writeFileSync(secret, 'a secret');
  for (const level of ['workspace', 'strict']) {
    const env = fakeClaude(`; cat ${secret}; echo "in $SQUAD_SANDBOX $HTTPS_PROXY"`);
    const { runIds } = await squad.json<{ runIds: [string] }>(
      [...['run', '-d', '--sandbox', level, '--engine', 'claude', '--permission', 'edit', 'coder', 'Work']],
      { env },
    );
    const [id] = runIds;
    await until('it is running', async () => (await shown(id)).status === 'running');
    const { chatId } = await shown(id);
    const yes = terminal('attach', id, '--take-over');
    await yes.shows('Take over? [y/N]');
    yes.press('y', 'Enter');
    await yes.shows(level === 'strict' ? 'in 1 http://127.0.0.1:' : 'in 1');
    const words = yes.lines().join('').replace(/\s+/g, ' ');
    expect(words).toContain(`opened --resume ${chatId}`);
    expect(words).not.toContain('a secret');
    yes.press('hello', 'Enter');
    await yes.shows('heard hello');
    expect((await yes.ended()).code).toBe(7);
  }
});

test('take-over is refused, and the run goes on, where it cannot be', async () => {
  const id = await talking();
  const takeOver = (env: Record<string, string> = {}) =>
    squad.run(['attach', id, '--take-over', '--yes'], { env });
  const scripted = await takeOver();
  expect([scripted.code, scripted.stderr]).toEqual([2, expect.stringContaining('CHAT_UNKNOWN')]);
  expect(scripted.stderr).toContain('no interactive mode');
  expect((await takeOver({ SQUAD_RUN_ID: id })).stderr).toContain('NOT_ALLOWED');

  const claude = await claudeAtWork();
  const piped = await squad.run(['attach', claude.id, '--take-over', '--yes']);
  expect([piped.code, piped.stderr]).toEqual([2, expect.stringContaining('needs an interactive terminal')]);
  const strange = await claudeAtWork({ FAKE_CHAT: '--yolo' });
  await until('it names its chat', async () => (await shown(strange.id)).chatId === '--yolo');
  const unknown = await squad.run(['attach', strange.id, '--take-over', '--yes']);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('CHAT_UNKNOWN')]);
  for (const each of [id, claude.id, strange.id]) expect((await shown(each)).status).toBe('running');
  expect(readFileSync(join(squad.home, 'hub.log'), 'utf8')).not.toContain('A bug');
});
