import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { findBubblewrap } from '../../../src/process/sandbox/bubblewrap.ts';
import type { Run } from '../../../src/schema/run.ts';
import { GitSquad, script } from '../../support/git-squad.ts';
import type { Ran } from '../../support/squad.ts';

const CODER = { coder: '---\nisolation: worktree\n---\nYou code.' };
const REAL = findBubblewrap(process.env.PATH ?? '')!;
const flat = ({ stdout, stderr }: Ran): string => `${stdout} ${stderr}`.replaceAll(/\s+/g, ' ');

interface Shown {
  run: Run;
  result: { result: string; sandbox: string; note?: string };
}

async function ran(
  squad: GitSquad,
  args: string[],
  { env = {}, steps = ['say done'] }: { env?: Record<string, string>; steps?: string[] } = {},
): Promise<Shown> {
  const argv = ['run', '-d', ...args, `Do it.${script(...steps)}`];
  const { runIds } = await squad.json<{ runIds: [string] }>(argv, { env });
  await squad.run(['wait', runIds[0]]);
  return squad.json<Shown>(['show', runIds[0]]);
}

/** A folder with a program in place of Claude Code. */
function fakeClaude(squad: GitSquad, script: string): string {
  const folder = join(squad.root, 'fakes');
  const program = join(folder, 'claude');
  mkdirSync(folder);
  writeFileSync(
    program,
    `#!/bin/sh\ncase "$1" in --version) echo "2.1.325 (Claude Code)"; exit;; esac\n${script}\n`,
  );
  chmodSync(program, 0o755);
  return folder;
}

describe('bubblewrap', { tags: ['I1'] }, () => {
  const lacks = (option: string) =>
    `case "$*" in *${option}*) echo "bwrap: Unknown option ${option}" >&2; exit 1;; esac; exec ${REAL} "$@"`;

  test.each<[string, string | null, string, string]>([
    ['is missing', null, 'bubblewrap (bwrap) was not found in PATH', 'Install bubblewrap'],
    ['is too old', lacks('--json-status-fd'), 'Unknown option', 'This version is too old'],
    [
      'may make no user namespace',
      'echo "bwrap: No permissions to create a new namespace" >&2; exit 1',
      'No permissions to create a new namespace',
      'Allow user namespaces',
    ],
    [
      'is another program',
      'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
      'its programs are not isolated',
      'Or run without one: sandbox: off',
    ],
  ])(
    '%s: refused with the reason if a sandbox is asked for, else a note',
    async (_what, program, reason, step) => {
      await using squad = new GitSquad(CODER);
      squad.env.PATH = programsWithout(squad, program);
      const refused = await squad.run(['run', '--sandbox', 'workspace', 'coder', 'Do it.']);
      expect(refused.code).toBe(2);
      expect(refused.stdout).toBe('');
      expect(flat(refused)).toContain('SANDBOX_UNAVAILABLE');
      expect(flat(refused)).toContain(reason);
      expect(flat(refused)).toContain(step);
      const plain = await squad.run(['run', 'coder', `Do it.${script('say done')}`]);
      expect(plain.code).toBe(0);
      expect(flat(plain)).toContain('Not sandboxed: ');
      expect(flat(plain)).toContain(reason);
      const { runs } = await squad.json<{ runs: Run[] }>(['ls']);
      expect(runs.map(({ options }) => options.sandbox.level)).toEqual(['off']);
    },
  );
});

describe('nsenter', { tags: ['I2', 'leaving-the-sandbox'] }, () => {
  const ONLY_STARTS = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"';

  test('is another program, which does not enter the network: a limited network is refused', async () => {
    await using squad = new GitSquad(CODER);
    squad.env.PATH = programsWithout(squad, ONLY_STARTS, 'nsenter');
    const refused = await squad.run(['run', '--network', 'none', 'coder', 'Do it.']);
    expect(refused.code).toBe(2);
    expect(flat(refused)).toContain('SANDBOX_UNAVAILABLE');
    expect(flat(refused)).toContain('its programs are not in the network that it is to enter');
    const { run } = await ran(squad, ['coder']);
    expect(run).toMatchObject({ status: 'completed', options: { sandbox: { level: 'workspace' } } });
  });

  test('is another program in a folder of the user: the one of the system is used', async () => {
    await using squad = new GitSquad(CODER);
    squad.env.PATH = `${programsWithout(squad, ONLY_STARTS, 'nsenter')}:/usr/bin`;
    const steps = ['run grep : /proc/net/dev'];
    const { run, result } = await ran(squad, ['--network', 'none', 'coder'], { steps });
    expect(run.status).toBe('completed');
    expect(result.result.match(/\w+(?=:)/g)).toEqual(['lo']);
  });
});

/** A PATH with all programs of this machine but one, and this script in its place. */
function programsWithout(squad: GitSquad, program: string | null, name = 'bwrap'): string {
  const folder = join(squad.root, 'programs');
  mkdirSync(folder);
  for (const each of readdirSync('/usr/bin'))
    if (each !== name) symlinkSync(join('/usr/bin', each), join(folder, each));
  if (program !== null) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${program}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return `${dirname(process.execPath)}:${folder}`;
}

test('links that an agent leaves in its folder show the next one nothing of the user', {
  tags: ['I1', 'leaving-the-sandbox'],
}, async () => {
  await using squad = new GitSquad(CODER);
  const plain = join(squad.root, 'plain');
  const secrets = join(squad.env.HOME!, 'secrets');
  for (const folder of [join(plain, 'bin'), secrets]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(secrets, 'key'), 'a secret');
  squad.env.PATH += `:${join(plain, 'bin')}`;
  const up = '../'.repeat(plain.split('/').length - 1);
  const inPlain = async (...steps: string[]): Promise<Shown> => {
    const argv = [
      'run',
      '-d',
      '--no-worktree',
      '--sandbox',
      'workspace',
      'coder',
      `Do it.${script(...steps)}`,
    ];
    const { runIds } = await squad.json<{ runIds: [string] }>(argv, { cwd: plain });
    await squad.run(['wait', runIds[0]]);
    return squad.json<Shown>(['show', runIds[0]]);
  };
  await inPlain(`run rmdir bin && ln -s ${secrets} bin && ln -s ${up}run .git`);
  const { run, result } = await inPlain('try cat bin/key', 'run ls -A /run', `try cat ${secrets}/key`);
  expect(run).toMatchObject({ status: 'completed', error: null });
  expect(result.result).not.toContain('a secret');
  expect(result.result).toContain('$ ls -A /run\n\n');
});

describe('the home of the user', { tags: ['I4'] }, () => {
  let elsewhere: string | null = null;
  afterEach(() => elsewhere && rmSync(elsewhere, { recursive: true, force: true }));

  test('on another file system, behind a link and with spaces, is private all the same', async () => {
    await using squad = new GitSquad(CODER);
    elsewhere = mkdtempSync('/dev/shm/squad home ');
    writeFileSync(join(elsewhere, 'secret'), 'a secret');
    const HOME = join(squad.root, 'my home');
    symlinkSync(elsewhere, HOME);
    const steps = [
      ...['run echo "home $HOME" && cd "$HOME" && echo own >mine && cat mine', `try cat "${HOME}/secret"`],
      ...[`try cat "${elsewhere}/secret"`, 'run git commit -q --allow-empty -m Inside'],
    ];
    const { run, result } = await ran(squad, ['coder'], { env: { HOME }, steps });
    expect(run).toMatchObject({ status: 'completed', options: { sandbox: { level: 'workspace' } } });
    expect(result.result).toContain(`home ${HOME}\nown`);
    expect(result.result).not.toContain('a secret');
    expect(readdirSync(elsewhere)).toEqual(['secret']);
    expect(run.evidence?.commits?.newest[0]?.subject).toBe('Inside');
  });

  test('that cannot be a mount is named, and the agent is not started without a sandbox', async () => {
    await using squad = new GitSquad(CODER);
    const { run } = await ran(squad, ['coder'], { env: { HOME: '/proc/squad-home' }, steps: ['write x'] });
    expect(run).toMatchObject({ status: 'error', error: { code: 'SPAWN_FAILED' } });
    expect(run.error?.message).toMatch(/its sandbox could not be made: .*\/proc\/squad-home/);
    expect(existsSync(join(run.directory, 'x'))).toBe(false);
  });
});

test('a repository with borrowed objects, submodules and a configuration per work tree', {
  tags: ['I4'],
}, async () => {
  await using squad = new GitSquad(CODER);
  const local = ['-c', 'protocol.file.allow=always'];
  squad.git('clone', '-q', '--bare', squad.workspace, join(squad.root, 'library'));
  squad.git(...local, 'submodule', '--quiet', 'add', join(squad.root, 'library'), 'library');
  squad.git('commit', '-qm', 'Library');
  const clone = join(squad.root, 'clone');
  squad.git(...local, 'clone', '-q', '--shared', '--recurse-submodules', squad.workspace, clone);
  squad.gitIn(clone, 'config', 'extensions.worktreeConfig', 'true');
  squad.gitIn(clone, 'config', '--worktree', 'user.name', 'Of the checkout');
  expect(readFileSync(join(clone, '.git/objects/info/alternates'), 'utf8')).toContain(squad.workspace);
  const steps = [
    ...['write new.txt', '| new', 'run git add -A && git commit -qm Inside && git status --porcelain'],
    ...['run git log --format=%s', 'run ls -d library', `try cat ${squad.workspace}/README.md`],
  ];
  const argv = ['run', '-d', 'coder', `Do it.${script(...steps)}`];
  const { runIds } = await squad.json<{ runIds: [string] }>(argv, { cwd: clone });
  await squad.run(['wait', runIds[0]]);
  const { run, result } = await squad.json<Shown>(['show', runIds[0]]);
  expect(run).toMatchObject({ status: 'completed', options: { sandbox: { level: 'workspace' } } });
  expect(result.result).toContain('Inside\nLibrary\nFirst');
  expect(result.result).not.toContain('# Project');
  const log = ['log', '--format=%s', run.worktree!.branch];
  expect(squad.gitIn(clone, ...log)).toBe('Inside\nLibrary\nFirst');
  expect(squad.gitIn(clone, 'fsck', '--connectivity-only')).not.toMatch(/missing|broken/);
});

test('a role that is not trusted gets its confinement, and not its hosts', { tags: ['I2'] }, async () => {
  await using squad = new GitSquad(CODER);
  delete squad.env.SQUAD_AGENTS_DIR;
  squad.write('agents/online.md', '---\nisolation: worktree\nhosts: [host.example]\n---\nYou code.');
  squad.write('agents/open.md', '---\nisolation: worktree\nsandbox: off\nnetwork: full\n---\nYou code.');
  const { run } = await ran(squad, ['online']);
  expect(run.options.sandbox).toMatchObject({ level: 'workspace', network: 'models', hosts: [] });
  const started = await squad.run(['run', 'open', `Do it.${script('say done')}`]);
  expect(flat(started)).toMatch(/sandbox.*squad trust/);
  const open = await squad.json<{ runs: Run[] }>(['ls', '--limit', '1']);
  expect(open.runs[0]?.options.sandbox.level).toBe('workspace');
});

describe('a login that the program must rewrite', { tags: ['I4'] }, () => {
  test('stays as it is outside, and the result says what to do', async () => {
    await using squad = new GitSquad(CODER);
    const login = join(squad.env.HOME!, '.claude', '.credentials.json');
    mkdirSync(dirname(login));
    writeFileSync(login, '{"old":1}');
    const end = (text: string) =>
      JSON.stringify({ type: 'result', subtype: 'success', is_error: true, result: text, session_id: 'x' });
    const fakes = fakeClaude(
      squad,
      `file=$HOME/.claude/.credentials.json
cat "$file" >&2
(echo new >"$file") 2>/dev/null && echo written >&2
echo new >"$file.tmp" && mv "$file.tmp" "$file" 2>/dev/null && echo replaced >&2
rm -f "$file" 2>/dev/null && echo removed >&2
echo '${end('Not logged in · Please run /login')}'; exit 1`,
    );
    const PATH = `${fakes}:${squad.env.PATH}`;
    const { run, result } = await ran(squad, ['--engine', 'claude', 'coder'], { env: { PATH } });
    expect(run).toMatchObject({
      status: 'error',
      options: { sandbox: { level: 'workspace' } },
      error: { code: 'ENGINE_NOT_LOGGED_IN' },
    });
    const stderr = join(squad.home, 'runs', run.id, 'turn-1', 'stderr');
    expect(readFileSync(stderr, 'utf8')).toBe('{"old":1}');
    expect(readFileSync(login, 'utf8')).toBe('{"old":1}');
    expect(result.note).toContain('Log in outside the sandbox');
  });
});

test('an agent that reports the chat of another run as its own does not get that home', {
  tags: ['leaving-the-sandbox'],
}, async () => {
  await using squad = new GitSquad(CODER);
  const PATH = `${fakeClaude(
    squad,
    `while [ $# -gt 0 ]; do case "$1" in --session-id|--resume) id=$2;; esac; shift; done
cat "$HOME/note" >&2; echo "note in $id" >"$HOME/note"
printf '{"type":"system","subtype":"init","session_id":"%s"}\\n' "\${FAKE_CHAT:-$id}"
printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"%s"}\\n' "\${FAKE_CHAT:-$id}"`,
  )}:${squad.env.PATH}`;
  const args = ['--engine', 'claude', 'coder'];
  const first = await ran(squad, args, { env: { PATH } });
  const second = await ran(squad, args, { env: { PATH, FAKE_CHAT: first.run.chatId! } });
  expect(second.run.status).toBe('completed');
  expect(second.run.chatId).not.toBe(first.run.chatId);
  const reply = ['reply', '-d', second.run.id, 'Go on.'];
  const { runIds } = await squad.json<{ runIds: [string] }>(reply, { env: { PATH } });
  await squad.run(['wait', runIds[0]]);
  const stderr = readFileSync(join(squad.home, 'runs', runIds[0], 'turn-1', 'stderr'), 'utf8');
  expect(stderr).toBe(`note in ${second.run.chatId}\n`);
});

test('leftovers that a role keeps are not kept inside, and the result says so', async () => {
  await using squad = new GitSquad({ keeper: '---\nisolation: worktree\nleftovers: keep\n---\nYou code.' });
  const { run } = await ran(squad, ['keeper'], { steps: ['leave sleep 61', 'say done'] });
  expect(run.status).toBe('completed');
  expect(run.notes).toEqual([expect.stringContaining('`leftovers: keep` has no effect in a sandbox')]);
  const outside = await ran(squad, ['--sandbox', 'off', 'keeper']);
  expect(outside.run.notes).toEqual([]);
});

test('the squad command inside says why it finds no hub', async () => {
  await using squad = new GitSquad(CODER);
  const program = join(import.meta.dirname, '..', '..', '..');
  await squad.run(['config', 'set', 'sandboxRead', program, '--user']);
  const { run, result } = await ran(squad, ['coder'], {
    steps: [`try node ${join(program, 'bin', 'squad.cjs')} ls`],
  });
  expect(run.options.sandbox.level).toBe('workspace');
  expect(result.result).toContain('cannot reach the hub from inside the sandbox');
});
