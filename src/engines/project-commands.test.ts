import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claudeProjectSettings } from './claude/claude-command.ts';
import { codexProjectSettings } from './codex/codex-command.ts';
import { refuseProjectCommands } from './project-commands.ts';
import { qwenProjectSettings, trustWithFork } from './qwen/qwen-command.ts';

let place: string;
let cwd: string;
let env: Record<string, string>;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'squad-project-'));
  cwd = join(place, 'repo', 'part');
  env = { HOME: join(place, 'home') };
  put('repo/.git/HEAD', '');
  put('repo/part/x', '');
});
afterEach(() => rmSync(place, { recursive: true }));

function put(path: string, content: string): void {
  mkdirSync(dirname(join(place, path)), { recursive: true });
  writeFileSync(join(place, path), content);
}

const HOOKS = JSON.stringify({ hooks: { SessionStart: [] } });
const refused = expect.objectContaining({ code: 'NOT_ALLOWED' });

describe('Claude Code', () => {
  const start = () => refuseProjectCommands(cwd, claudeProjectSettings(env));

  test('starts where settings run nothing', () => {
    put('repo/.claude/settings.json', '{"permissions":{"deny":["Bash"]}}');
    expect(start).not.toThrow();
  });

  test.each(['repo/.claude/settings.json', 'repo/part/.claude/settings.local.json'])(
    'does not start where %s has hooks',
    file => {
      put(file, HOOKS);
      expect(start).toThrow(refused);
    },
  );

  test('is no longer refused once the user has trusted the folder, or one above it', () => {
    put('repo/.claude/settings.json', HOOKS);
    put(
      'home/.claude.json',
      JSON.stringify({ projects: { [join(place, 'repo')]: { hasTrustDialogAccepted: false } } }),
    );
    expect(start).toThrow(refused);
    put(
      'home/.claude.json',
      JSON.stringify({ projects: { [join(place, 'repo')]: { hasTrustDialogAccepted: true } } }),
    );
    expect(start).not.toThrow();
  });

  describe('in a work tree that was made for a run', () => {
    const startFork = () =>
      refuseProjectCommands(join(place, 'forks/one/part'), claudeProjectSettings(env), {
        path: join(place, 'forks/one'),
        repository: join(place, 'repo'),
      });
    const trust = () =>
      put(
        'home/.claude.json',
        JSON.stringify({ projects: { [join(place, 'repo')]: { hasTrustDialogAccepted: true } } }),
      );
    beforeEach(() => {
      put('repo/.claude/settings.json', HOOKS);
      put('forks/one/.git', 'gitdir: elsewhere');
      put('forks/one/.claude/settings.json', HOOKS);
    });

    test("is refused with a hint to the user's own folder, until that is trusted", () => {
      expect(startFork).toThrow(
        expect.objectContaining({
          code: 'NOT_ALLOWED',
          suggestions: expect.arrayContaining([expect.stringContaining(`in ${cwd} once`)]),
        }),
      );
      trust();
      expect(startFork).not.toThrow();
    });

    test.each(['forks/one/.claude/settings.json', 'forks/one/part/.claude/settings.json'])(
      'is refused where %s is not what was trusted',
      file => {
        trust();
        put(file, JSON.stringify({ hooks: { Stop: [] } }));
        expect(startFork).toThrow(/differs/);
      },
    );
  });

  test('an empty .git folder above makes no repository of what lies below it', () => {
    rmSync(join(place, 'repo/.git'), { recursive: true });
    mkdirSync(join(place, '.git'));
    put('repo/.claude/settings.json', HOOKS);
    expect(start).not.toThrow();
    put('.git/HEAD', '');
    expect(start).toThrow(refused);
  });

  test('an empty .git folder on the way does not hide the repository around it', () => {
    mkdirSync(join(cwd, '.git'));
    put('repo/.claude/settings.json', HOOKS);
    expect(start).toThrow(refused);
  });

  test("settings above the repository are not the repository's", () => {
    put('.claude/settings.json', HOOKS);
    expect(start).not.toThrow();
  });
});

describe('Codex', () => {
  const start =
    (config = '') =>
    () =>
      refuseProjectCommands(cwd, codexProjectSettings(config));

  test.each([
    ['config.toml', '[mcp_servers.x]\ncommand = "touch"\n', true],
    ['config.toml', 'model = "x"\n[ mcp_servers . "y" ]\n', true],
    ['config.toml', 'notify = ["touch"]\n', true],
    ['config.toml', 'model_provider = "mine"\n', true],
    ['hooks.json', '{ "hooks": {} }', true],
    ['config.toml', 'model = "x"\nsandbox_mode = "read-only"\n', false],
  ])('%s with %j: refused %s', (file, content, isRefused) => {
    put(`repo/.codex/${file}`, content);
    if (isRefused) expect(start()).toThrow(refused);
    else expect(start()).not.toThrow();
  });

  test('is no longer refused once the user has trusted the folder, or one above it', () => {
    put('repo/.codex/config.toml', '[mcp_servers.x]\n');
    const config = (level: string) =>
      `a = 1\n[projects."${join(place, 'repo')}"]\ntrust_level = "${level}"\n`;
    expect(start(config('trusted'))).not.toThrow();
    expect(start(config('untrusted'))).toThrow(refused);
  });
});

describe('Qwen Code', () => {
  const start = () => refuseProjectCommands(cwd, qwenProjectSettings(env));
  const trust = (folder: string) =>
    put(
      'home/.qwen/trustedFolders.json',
      JSON.stringify({ '/other': 'TRUST_FOLDER', [folder]: 'TRUST_FOLDER' }),
    );

  test('does not start where settings have hooks, until the folder is trusted', () => {
    put('repo/.qwen/settings.json', HOOKS);
    expect(start).toThrow(refused);
    trust(cwd);
    expect(start).not.toThrow();
  });

  describe('in a work tree that was made for a run', () => {
    const folder = () => join(place, 'forks/one');
    const fork = () => ({ path: folder(), repository: join(place, 'repo') });
    const startFork = () => refuseProjectCommands(folder(), qwenProjectSettings(env), fork());
    beforeEach(() => {
      put('repo/.qwen/settings.json', HOOKS);
      put('forks/one/.git', 'gitdir: elsewhere');
      trust(join(place, 'repo'));
    });

    test('starts with settings it has written anew itself, and not with others', () => {
      put('forks/one/.qwen/settings.json', '{\n  "hooks": { "SessionStart": [] },\n  "$version": 3\n}');
      expect(startFork).not.toThrow();
      put('forks/one/.qwen/settings.json', '{ "hooks": { "SessionStart": [1] }, "$version": 3 }');
      expect(startFork).toThrow(refused);
    });

    test("trusts this folder, too, if the user's own folder is trusted", () => {
      expect(JSON.parse(trustWithFork(folder(), env, fork())!)).toEqual({
        '/other': 'TRUST_FOLDER',
        [join(place, 'repo')]: 'TRUST_FOLDER',
        [folder()]: 'TRUST_FOLDER',
      });
      expect(trustWithFork(cwd, env, null)).toBeNull();
      trust('/elsewhere');
      expect(trustWithFork(folder(), env, fork())).toBeNull();
    });
  });
});
