import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WindowedRun } from '../../core/ports/sessions.ts';
import { newRunId, type RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { createSessions, type SessionsOptions } from './tmux-sessions.ts';

let folder: string;
let env: Record<string, string>;
let warnings: string[];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-sessions-')));
  env = { PATH: process.env.PATH!, HOME: folder, LANG: 'C.UTF-8', TMUX_TMPDIR: folder };
  warnings = [];
});
afterEach(() => {
  tmux('kill-server');
  tmux('-L', 'terminals', 'kill-server');
  rmSync(folder, { recursive: true });
});

/** Asks the server of this test, and no other. */
function tmux(...args: string[]): string {
  return spawnSync('tmux', args, { encoding: 'utf8', env, cwd: '/' }).stdout;
}

const WORKTREE = { path: '/x', branch: 'b', repository: '/r', base: 'c', baseBranch: null, workspace: '/x' };

const run = (changes: Partial<Run> = {}): WindowedRun => ({
  ...{
    id: newRunId(),
    roleId: 'developer',
    subagent: null,
    engine: 'claude',
    title: null,
    task: 'Fix the login',
  },
  worktree: WORKTREE,
  ...changes,
});

const logOf = (id: RunId) => join(folder, `${id}.log`);

/** The log command of a run: shows a file as it grows, and ends when the file does. */
const FOLLOW =
  'const { openSync, readSync, existsSync } = require("node:fs"); const f = openSync(process.argv[1]); const b = Buffer.alloc(4096); setInterval(() => { for (let n; (n = readSync(f, b)) > 0; ) process.stdout.write(b.subarray(0, n)); if (!existsSync(process.argv[1])) process.exit(); }, 20)';

function sessions(changes: Partial<SessionsOptions> = {}) {
  return createSessions({
    home: join(folder, 'state'),
    env,
    settings: () => ({ 'tmux.sessions': 'worktree' }),
    command(id) {
      if (!existsSync(logOf(id))) writeFileSync(logOf(id), 'first line\n');
      return [process.execPath, '-e', FOLLOW, logOf(id)];
    },
    warn: message => warnings.push(message),
    ...changes,
  });
}

const names = () => tmux('list-sessions', '-F', '#{session_name}').split('\n').filter(Boolean);
const screen = (name: string) => tmux('capture-pane', '-p', '-t', `=${name}:`);

async function until(what: string, look: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise(wake => setTimeout(wake, 15)))
    if (look()) return;
  throw new Error(`It did not become so in time: ${what}`);
}

test('a session shows the log of its run as it grows, and is gone when the log ends', async () => {
  const { id } = run();
  const name = await sessions().open(run({ id }));
  expect(name).toBe(`squad-${id}`);
  expect(names()).toEqual([name]);
  await until('the first line', () => screen(name!).includes('first line'));
  appendFileSync(logOf(id), 'second line\n');
  await until('the second line', () => screen(name!).includes('second line'));
  expect(tmux('list-windows', '-t', `=${name}:`, '-F', '#{window_name} #{history_limit}')).toBe(
    'developer: Fix the login 20000\n',
  );
  rmSync(logOf(id));
  await until('no session', () => names().length === 0);
  expect(warnings).toEqual([]);
});

test('opened again it is the same session; closed it is gone, and others stay', async () => {
  const here = sessions();
  const [one, two] = [run(), run()];
  const [first, again, other] = await Promise.all([here.open(one), here.open(one), here.open(two)]);
  expect([first, again]).toEqual([`squad-${one.id}`, `squad-${one.id}`]);
  await here.close(one.id);
  expect(names()).toEqual([other]);
});

test.each([
  ['worktree', false, [true, false]],
  ['worktree', true, [true, true]],
  ['all', false, [true, true]],
  ['off', true, [false, false]],
] as const)('with tmux.sessions %s, asked for: %s', async (setting, isAskedFor, expected) => {
  const here = sessions({ settings: () => ({ 'tmux.sessions': setting }) });
  const found = [];
  for (const each of [run(), run({ worktree: null })]) found.push(await here.open(each, isAskedFor));
  expect(found.map(name => name !== null)).toEqual(expected);
  expect(names().length).toBe(expected.filter(Boolean).length);
});

test.each([
  '#(touch pwned) #{q:session_name} #[fg=red]',
  '$(touch pwned) `touch pwned`; touch pwned | touch pwned',
  `"quotes" 'and' \\ more`,
  'two\nlines\r\u001b]2;title\u0007',
  '-t other',
  'ends in ;',
  'Übersetzen 日本語 🙂',
])('the title %j does nothing but stand there', { tags: ['D6'] }, async title => {
  const name = (await sessions().open(run({ title })))!;
  await until('the log', () => screen(name).includes('first line'));
  const shown = tmux('display-message', '-p', '-t', `=${name}:`, '#{window_name}').trim();
  expect(shown).toMatch(/^developer:[\p{L}\p{N} .,:/_-]*$/u);
  // A status line of the user may pass the name to a shell as an argument.
  execFileSync('sh', ['-c', `: ${shown}`], { cwd: folder });
  expect(readdirSync(folder).filter(entry => entry.includes('pwned'))).toEqual([]);
  expect(warnings).toEqual([]);
});

test('no shell reads the words of the log command, and it gets the home, and nothing of the hub', async () => {
  const home = `${folder}/st ate "x" $(touch pwned);`;
  const print =
    'console.log(JSON.stringify([process.env.SQUAD_HOME, process.env.SECRET ?? null, process.env.SQUAD_RUN_ID ?? null, process.cwd(), ...process.argv.slice(1)])); setInterval(() => {}, 1000)';
  const words = ['$(touch pwned)', '#(touch pwned)', 'a b', `'"`, 'end;', ';'];
  const name = await sessions({
    home,
    env: { ...env, SECRET: 'hush', TMUX: '/nowhere,1,0', SQUAD_RUN_ID: 'run_0000000000' },
    command: () => [process.execPath, '-e', print, ...words],
  }).open(run());
  const text = () => tmux('capture-pane', '-p', '-J', '-t', `=${name}:`).trim();
  await until('its words', () => text().endsWith(']'));
  expect(JSON.parse(text())).toEqual([home, null, null, '/', ...words]);
  expect(tmux('show-environment', '-g')).not.toContain('hush');
  expect(tmux('show-environment', '-t', `=${name}`)).not.toContain('hush');
  expect(readdirSync(folder).filter(entry => entry.includes('pwned'))).toEqual([]);
});

test('an agent whose tmux server it was leaves no mark on the log command', async () => {
  spawnSync('tmux', ['new-session', '-d', '-s', 'theirs', 'cat'], {
    env: { ...env, SQUAD_RUN_ID: 'run_0000000000', SQUAD_TURN: '1' },
  });
  const print =
    'console.log("mark", process.env.SQUAD_RUN_ID, process.env.SQUAD_TURN); setInterval(() => {}, 1000)';
  const name = await sessions({ command: () => [process.execPath, '-e', print, 'x'] }).open(run());
  await until('its words', () => screen(name!).includes('mark'));
  expect(screen(name!)).toContain('mark undefined undefined');
});

/** A client on a terminal of its own, which another server gives it: its name on the server of this test. */
async function client(name: string): Promise<string> {
  const before = clients();
  spawnSync(
    'tmux',
    ['-L', 'terminals', '-f', '/dev/null', 'new-session', '-d', `env -u TMUX tmux attach -t '=${name}:'`],
    {
      env: { ...env, TERM: 'xterm-256color' },
      cwd: '/',
    },
  );
  await until('the client is there', () => clients().length > before.length);
  return clients().find(each => !before.includes(each))!;
}
const clients = () => tmux('list-clients', '-F', '#{client_name}').split('\n').filter(Boolean);
const places = () =>
  Object.fromEntries(
    tmux('list-clients', '-F', '#{client_name}\t#{client_session}')
      .split('\n')
      .filter(Boolean)
      .map(line => line.split('\t')),
  );

test.each(['closed', 'swept'])(
  'when a session is %s, who came from another goes back to it, and who came from outside is out',
  async how => {
    tmux('new-session', '-d', '-s', 'my own 50%', 'cat');
    const here = sessions();
    const { id } = run();
    const name = (await here.open(run({ id })))!;
    const [mine, outsider] = [await client('my own 50%'), await client(name)];
    tmux('switch-client', '-c', mine, '-t', `=${name}`);
    // Used last, so that tmux itself would choose it.
    tmux('new-session', '-d', '-s', 'later', 'cat');
    expect(places()).toEqual({ [mine]: name, [outsider]: name });
    if (how === 'closed') await here.close(id);
    else await sessions().sweep(() => false);
    await until('the outsider is out', () => !clients().includes(outsider));
    expect(places()).toEqual({ [mine]: 'my own 50%' });
    expect(names().sort()).toEqual(['later', 'my own 50%']);
  },
);

test("the user's own options stay as they are, and theirs do not keep a session or take it away", async () => {
  const options = [
    'remain-on-exit on',
    'destroy-unattached on',
    'status off',
    'history-limit 5',
    'base-index 7',
  ];
  writeFileSync(join(folder, '.tmux.conf'), options.map(line => `set -g ${line}\n`).join(''));
  const { id } = run();
  const name = await sessions().open(run({ id }));
  await until('the log', () => screen(name!).includes('first line'));
  for (const [option, value] of options.map(line => line.split(' ')))
    expect(tmux('show-options', '-gv', option!).trim() || tmux('show-options', '-gwv', option!).trim()).toBe(
      value,
    );
  rmSync(logOf(id));
  await until('no session', () => names().length === 0);
});

test('a sweep ends sessions of runs that are over, of this home only, and nothing else', {
  tags: ['D10', 'D6'],
}, async () => {
  const here = sessions();
  const there = sessions({ home: join(folder, 'another') });
  const [live, over, foreign] = [run(), run(), run()];
  await Promise.all([here.open(live), here.open(over), there.open(foreign)]);
  for (const name of ['squad-run_abcdefghij', 'squad-run_abc', 'xsquad-run_abcdefghij', 'mine'])
    tmux('new-session', '-d', '-s', name, 'cat');
  const next = sessions();
  await next.sweep(id => id === live.id);
  expect(names().sort()).toEqual(
    [
      ...[`squad-${live.id}`, `squad-${foreign.id}`],
      ...['squad-run_abcdefghij', 'squad-run_abc', 'xsquad-run_abcdefghij', 'mine'],
    ].sort(),
  );
  // The new hub also closes sessions that a previous hub opened.
  await next.close(live.id);
  expect(names()).not.toContain(`squad-${live.id}`);
});

test('without tmux there are no sessions, and nothing is said about it', async () => {
  const here = sessions({ env: { ...env, PATH: join(folder, 'empty') } });
  expect(await here.open(run())).toBeNull();
  await here.close(newRunId());
  await here.sweep(() => false);
  expect(warnings).toEqual([]);
});

test('a tmux server that was killed meanwhile is no error, and the next session starts a new one', async () => {
  const here = sessions();
  const one = run();
  await here.open(one);
  tmux('kill-server');
  await here.sweep(() => false);
  await here.close(one.id);
  expect(await here.open(one)).toBe(`squad-${one.id}`);
  expect(names()).toEqual([`squad-${one.id}`]);
});

test.each([
  ['refuses', "echo 'no sockets today' >&2; exit 1", 'no sockets today'],
  ['hangs', 'exec tail -f /dev/null', 'time'],
])('a tmux that %s is reported, and the run has no session', async (_does, lines, said) => {
  writeFileSync(join(folder, 'tmux'), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  const here = sessions({ env: { ...env, PATH: `${folder}:${env.PATH}` } });
  expect(await here.open(run())).toBeNull();
  expect(warnings).toEqual([expect.stringMatching(/^There is no tmux session for run_\w{10}: /)]);
  expect(warnings[0]).toContain(said);
});
