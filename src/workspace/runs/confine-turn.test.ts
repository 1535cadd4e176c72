import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { SandboxNeeds } from '../../core/ports/engine.ts';
import type { Worktrees } from '../../core/ports/worktrees.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { createRunFiles } from '../../process/output/run-files.ts';
import { newRunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { RunSandbox } from '../../schema/sandbox.ts';
import { createConfineTurn } from './confine-turn.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'squad-confine-')));
  const made = root;
  onTestFinished(() => rmSync(made, { recursive: true }));
  for (const folder of ['home', 'project', 'home/.squad/worktrees/t'])
    mkdirSync(at(folder), { recursive: true });
});
const at = (path: string) => join(root, path);
function put(path: string, text = 'x'): string {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
  return at(path);
}

const NEEDS: SandboxNeeds = { programs: [], login: [], drops: [], writes: [], hosts: ['api.example'] };
const SANDBOX: RunSandbox = { level: 'workspace', network: 'full', hosts: [], read: [] };
const id = newRunId();

/** With `tree`: in a work tree in Squad's folder; else in the project itself. */
async function confine({
  needs = {},
  sandbox = {},
  run = {},
  env = {},
  tree = true,
  purpose,
}: {
  needs?: Partial<SandboxNeeds>;
  sandbox?: Partial<RunSandbox>;
  run?: Partial<Run>;
  env?: Record<string, string>;
  tree?: boolean;
  purpose?: 'turn' | 'set-up';
} = {}) {
  const squadHome = at('home/.squad');
  const files = createRunFiles({ runsDir: join(squadHome, 'runs'), chatsDir: join(squadHome, 'chats') });
  const turn = { runId: id, number: 1 };
  await files.prepare(turn, 'a prompt');
  const path = at('home/.squad/worktrees/t');
  const asked: Parameters<Worktrees['confine']>[1][] = [];
  const confineTurn = createConfineTurn({
    ...{ files, squadHome, isShared: () => false },
    worktrees: {
      confine: async (worktree, access) => {
        asked.push(access);
        return [{ path: worktree.path, from: worktree.path, access: access === 'read' ? 'read' : 'write' }];
      },
    },
  });
  const options = { ...PLAIN_OPTIONS, sandbox: { ...SANDBOX, ...sandbox }, ...run.options };
  const worktree = tree ? { path, repository: at('project') } : null;
  const row = {
    ...{ id, engine: 'scripted', chatId: 'chat', directory: tree ? path : at('project'), worktree },
    workspace: at('project'),
    ...{ ...run, options },
  } as Run;
  const { sandbox: result, identity } = await confineTurn(
    row,
    turn,
    { ...NEEDS, ...needs },
    {
      ...{ HOME: at('home'), PATH: '/usr/bin:/bin' },
      ...env,
    },
    purpose,
  );
  const mount = (inside: string) => result.mounts.findLast(each => each.path === inside);
  /** The mount that decides about a path, as the kernel would find it. */
  const seen = (inside: string) =>
    result.mounts.findLast(each => inside === each.path || inside.startsWith(`${each.path}/`));
  return { ...result, identity, mount, seen, asked, chatHome: files.chatHome('scripted', 'chat') };
}

describe('a turn in a sandbox', { tags: ['I1', 'I4'] }, () => {
  test('has the HOME of its chat in the place of the real one, and of Squad only its own folders', async () => {
    put('home/.ssh/id_ed25519');
    const { home, mount, seen, chatHome } = await confine();
    expect(home).toBe(at('home'));
    expect(mount(home)).toEqual({ path: home, from: chatHome, access: 'write' });
    for (const hidden of [
      'home/.ssh/id_ed25519',
      'home/.squad/token',
      'home/.squad/squad.db',
      'home/.squad/runs/x',
    ])
      expect(seen(at(hidden))!.from).toBe(chatHome);
    expect(seen(at(`home/.squad/runs/${id}/turn-1/pid`))!.access).toBe('read');
    expect(seen(at(`home/.squad/runs/${id}/environment.json`))!.from).toBe(chatHome);
    expect(seen(at('home/.squad/worktrees/t/a.ts'))).toMatchObject({ access: 'write' });
    expect(seen(at('project/secret'))).toBeUndefined();
  });

  test('reads its program, its login and what the user names, but not by these the home', async () => {
    const login = put('home/.tool/login.json');
    put('home/sdk/bin/go');
    put('home/sdk/lib/x');
    const { mount, seen } = await confine({
      needs: { programs: [at('home/tool'), at('home')], login: [{ from: login, path: login }] },
      sandbox: { read: [at('data'), root, at('home/.squad/runs')] },
      env: { PATH: `${at('home/sdk/bin')}:${at('home')}:/usr/bin` },
    });
    for (const path of [at('home/tool'), at('home/sdk'), at('data'), login])
      expect(mount(path)).toMatchObject({ from: path, access: 'read' });
    expect(mount('/usr/bin')).toBeUndefined();
    expect(mount(root)).toBeUndefined();
    expect(mount(at('home'))).toMatchObject({ access: 'write' });
    expect(seen(at('home/.squad/runs/run_other'))!.path).toBe(at('home'));
  });

  test('writes nothing with permission read, or if its engine says so', async () => {
    expect(
      (await confine({ run: { options: { ...PLAIN_OPTIONS, sandbox: SANDBOX, permission: 'read' } } })).asked,
    ).toEqual(['read']);
    expect((await confine({ needs: { isReadOnly: true } })).asked).toEqual(['read']);
    expect((await confine()).asked).toEqual(['write']);
  });

  test('its set-up can write whatever its permission is, and has no login', async () => {
    const from = put('home/.tool/login.json');
    const { asked, mount } = await confine({
      purpose: 'set-up',
      needs: { isReadOnly: true, login: [{ from, path: from }] },
      run: { options: { ...PLAIN_OPTIONS, sandbox: SANDBOX, permission: 'read' } },
    });
    expect(asked).toEqual(['set-up']);
    expect(mount(from)).toBeUndefined();
  });

  test('without a work tree has its folder, with its git read-only', async () => {
    put('project/.git/config');
    const { seen } = await confine({ tree: false });
    expect(seen(at('project/a.ts'))).toMatchObject({ access: 'write' });
    expect(seen(at('project/.git/hooks/pre-commit'))).toMatchObject({ access: 'read' });
  });

  test('sees packages that its tree links to at the same place in the checkout, and follows no other link', async () => {
    put('project/node_modules/x/index.js');
    put('project/.env');
    put('project/packages/a/vendor/y');
    mkdirSync(at('home/.squad/worktrees/t/packages/a'), { recursive: true });
    symlinkSync(at('project/node_modules'), at('home/.squad/worktrees/t/node_modules'));
    symlinkSync(at('project'), at('home/.squad/worktrees/t/vendor'));
    symlinkSync(at('project/.env'), at('home/.squad/worktrees/t/.env'));
    symlinkSync(at('project/packages/a/vendor'), at('home/.squad/worktrees/t/packages/a/vendor'));
    const { mounts, seen } = await confine();
    expect(seen(at('project/node_modules/x'))).toMatchObject({ access: 'read' });
    expect(seen(at('project/packages/a/vendor/y'))).toMatchObject({ access: 'read' });
    expect(seen(at('project/.env'))).toBeUndefined();
    expect(mounts.filter(({ path }) => path.startsWith(at('project'))).length).toBe(2);
  });

  test('gets a copy of a login that its program replaces, and a folder for what it reports', async () => {
    const from = put('home/.copilot/config.json', '{"login":1}');
    const { chatHome, mount } = await confine({
      needs: { login: [{ from, path: from, isCopied: true }], writes: ['reports'] },
    });
    expect(mount(from)).toBeUndefined();
    expect(readFileSync(join(chatHome, '.copilot/config.json'), 'utf8')).toBe('{"login":1}');
    const reports = at(`home/.squad/runs/${id}/turn-1/reports`);
    expect(mount(reports)).toEqual({ path: reports, from: reports, access: 'write' });
    expect(existsSync(reports)).toBe(true);
  });

  test('reaches the API of its engine only with network models, and the hosts of its role always', {
    tags: ['I2'],
  }, async () => {
    const hosts = ['b.example'];
    expect((await confine({ sandbox: { network: 'models', hosts } })).hosts).toEqual([
      'b.example',
      'api.example',
    ]);
    expect((await confine({ sandbox: { network: 'none', hosts } })).hosts).toEqual(hosts);
    expect((await confine()).hosts).toEqual([]);
  });

  test('commits as the user, whose configuration of git it does not see', async () => {
    put('home/.gitconfig', '[user]\nname = Ann\nemail = ann@example.com\n[credential]\nhelper = store\n');
    const { identity } = await confine();
    expect(identity).toEqual({
      ...{ GIT_AUTHOR_NAME: 'Ann', GIT_AUTHOR_EMAIL: 'ann@example.com' },
      ...{ GIT_COMMITTER_NAME: 'Ann', GIT_COMMITTER_EMAIL: 'ann@example.com' },
    });
  });

  test('is refused in a folder around the real HOME, whatever links lead to it', async () => {
    symlinkSync(at('home'), at('link'));
    for (const directory of [root, at('home')])
      await expect(
        confine({ tree: false, run: { directory }, env: { HOME: at('link') } }),
      ).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
    await confine({ tree: false, env: { HOME: at('link') } });
  });

  test('an unusable HOME is another folder inside', async () => {
    for (const HOME of ['/', 'relative', ''])
      expect((await confine({ env: { HOME } })).home).toBe('/home/agent');
  });
});

describe('links that an agent left in its folders', {
  tags: ['links-in-the-place-of-an-output', 'I1'],
}, () => {
  test('do not lead a mount, a copy or the next HOME elsewhere', async () => {
    const victim = at('victim');
    mkdirSync(victim);
    const from = put('home/.copilot/config.json', 'login');
    const first = await confine();
    const inChat = (name: string) => join(first.chatHome, name);
    rmSync(inChat('.squad'), { recursive: true, force: true });
    for (const name of ['.copilot', '.squad', '.tool']) symlinkSync(victim, inChat(name));
    const login = put('home/.tool/login.json');
    await confine({
      needs: {
        login: [
          { from, path: from, isCopied: true },
          { from: login, path: login },
        ],
      },
    });
    for (const name of ['.copilot', '.squad', '.tool'])
      expect(lstatSync(inChat(name)).isDirectory()).toBe(true);
    rmSync(first.chatHome, { recursive: true });
    symlinkSync(at('home'), first.chatHome);
    await confine();
    expect(lstatSync(first.chatHome).isDirectory()).toBe(true);
    expect(lstatSync(first.chatHome).isSymbolicLink()).toBe(false);
    expect(existsSync(join(victim, 'config.json'))).toBe(false);
    expect(existsSync(join(victim, 'login.json'))).toBe(false);
  });

  test('in the project do not lead a folder of PATH or its git elsewhere', async () => {
    put('home/.ssh/id_ed25519');
    put('project/bin/tool');
    put('project/.git/config');
    symlinkSync(at('project/bin'), at('link'));
    const env = { PATH: `${at('project/bin')}:${at('link')}:/usr/bin` };
    for (const tree of [true, false]) {
      const { mounts } = await confine({ env, tree });
      expect(mounts).toContainEqual(
        expect.objectContaining({ path: at('link'), from: at('project/bin'), isWithoutLinks: true }),
      );
    }
    rmSync(at('project/bin'), { recursive: true });
    symlinkSync('../home/.ssh', at('project/bin'));
    rmSync(at('project/.git'), { recursive: true });
    symlinkSync('../home/.ssh', at('project/.git'));
    for (const tree of [true, false]) {
      const { mounts } = await confine({ env, tree });
      expect(mounts.map(({ path }) => path)).not.toContain(at('project/bin'));
      expect(mounts.map(({ path }) => path)).not.toContain(at('link'));
      expect(mounts.map(({ path }) => path)).not.toContain(at('project/.git'));
    }
  });

  test('are not followed when Squad writes into the folder of a chat', async () => {
    const files = createRunFiles({ runsDir: at('runs'), chatsDir: at('chats') });
    const victim = put('victim/settings.json', 'mine');
    await files.writeInChat('gemini', 'c', '.gemini/settings.json', 'one');
    rmSync(at('chats/gemini/c/.gemini'), { recursive: true });
    symlinkSync(at('victim'), at('chats/gemini/c/.gemini'));
    const written = await files.writeInChat('gemini', 'c', '.gemini/settings.json', 'two');
    expect(readFileSync(written, 'utf8')).toBe('two');
    expect(readFileSync(victim, 'utf8')).toBe('mine');
  });
});
