import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad();
let env: Record<string, string>;

interface Doctor {
  ok: boolean;
  checks: { name: string; state: string; detail: string; next: string[] }[];
  engines: {
    id: string;
    program: string | null;
    version: string | null;
    warning: string | null;
    advisory: string[];
  }[];
}

/** A program that says it is this version, and leaves a line each time it is asked. */
function cli(name: string, says: string): string {
  const asked = join(squad.root, `${name}.asked`);
  return squad.script(`bin/${name}`, `echo "$*" >>'${asked}'\necho '${says}'`);
}
const timesAsked = (name: string) =>
  readFileSync(join(squad.root, `${name}.asked`), 'utf8')
    .trimEnd()
    .split('\n').length;

beforeAll(() => {
  const codex = cli('codex', 'codex-cli 0.166.0');
  cli('claude', '1.0.3 (Claude Code)');
  cli('gemini', 'who knows');
  env = { PATH: `${dirname(codex)}:${squad.env.PATH}` };
});
afterAll(() => squad[Symbol.asyncDispose]());

test('names every agent CLI: place, version, what is wrong, how to get it and how to log in', async () => {
  const { code, stdout } = await squad.run(['doctor'], { env });
  expect(code).toBe(0);
  const [, section = ''] = stdout.split('\nAgent CLIs\n');
  expect(section).toContain(`  codex     0.166.0 at ${squad.workspace}/bin/codex\n`);
  expect(section).toContain('Not enforced by this CLI: tools (');
  expect(section).toContain('To log in: Run `codex login`');
  expect(section).toContain('Claude Code 1.0.3 is too old: Squad needs ');
  expect(section).toMatch(/^ {2}gemini {4}version unknown at /m);
  expect(section).toMatch(/^ {2}opencode {2}not found: npm install -g opencode-ai$/m);
});

test('says which one would be used and why, passing over one that is too old', async () => {
  const { checks, engines } = await squad.json<Doctor>(['doctor'], { env });
  expect(checks.find(check => check.name === 'engine')).toMatchObject({
    state: 'ok',
    detail: 'codex',
    next: [expect.stringMatching(/^No engine is set: using codex 0\.166\.0, the first one found/)],
  });
  expect(engines.find(each => each.id === 'qwen')).toMatchObject({ program: null, version: null });
  const set = await squad.json<Doctor>(['doctor'], { env: { ...env, ENGINE_COMMAND: 'scripted' } });
  const why = set.checks.find(check => check.name === 'engine')!.detail;
  expect(why).toMatch(/^scripted, set by engine in .*ENGINE_COMMAND/);
});

test('asks each program for its version once, for as long as the file is the same', async () => {
  await squad.run(['doctor'], { env });
  await squad.run(['doctor'], { env });
  expect(timesAsked('codex')).toBe(1);
  cli('codex', 'codex-cli 0.166.1 or so');
  const { engines } = await squad.json<Doctor>(['doctor'], { env });
  expect(engines.find(each => each.id === 'codex')?.version).toBe('0.166.1');
});

const HAS_SANDBOX = process.platform === 'linux' && existsSync('/usr/bin/bwrap');
const sandboxIn = async (path: string) => {
  const { ok, checks } = await squad.json<Doctor>(['doctor'], { env: { PATH: path } });
  return { ok, ...checks.find(({ name }) => name === 'sandbox')! };
};

test.runIf(HAS_SANDBOX)(
  'says whether there is a sandbox for code mode, having tried it',
  { tags: ['E5'] },
  async () => {
    expect(await sandboxIn(env.PATH!)).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/^\/.*\/bwrap works/),
      next: [],
    });
    const broken = dirname(
      squad.script('broken/bwrap', 'echo No permissions to create a namespace >&2; exit 1'),
    );
    const { state, detail } = await sandboxIn(broken);
    expect(state).toBe('warning');
    expect(detail).toContain(`${broken}/bwrap was found, but no program could be started in it`);
    expect(detail).toContain('No permissions to create a namespace');
  },
);

test('without a sandbox says what to install, and that is no failure', async () => {
  const bin = dirname(squad.script('few/tmux', 'echo tmux 3.4'));
  squad.script('few/git', 'echo git version 2.50.0');
  squad.script('few/codex', "echo 'codex-cli 0.166.0'");
  const { ok, state, detail, next } = await sandboxIn(bin);
  expect([ok, state]).toEqual([true, 'warning']);
  expect(`${detail} ${next.join(' ')}`).toMatch(/bubblewrap/);
  expect(next.at(-1)).toMatch(/turn code mode off/);
  const { stdout } = await squad.run(['doctor'], { env: { PATH: bin } });
  expect(stdout).toMatch(/^warning {2}sandbox {4}Code mode needs a sandbox/m);
});

test("lists engines of one's own, and warns of a hook whose program is not there", async () => {
  const own = { mine: { runTemplate: 'mine -p', parser: 'claude' } };
  const file = squad.write(
    '../user/.config/squad/config.json',
    JSON.stringify({ engines: own, onEnd: ['no-such-hook', 'x'], onAsk: ['neither-this'] }),
  );
  const { stdout } = await squad.run(['doctor'], { env });
  expect(stdout).toContain(`\nCustom engines (${file})\n  mine, with events in the format of claude\n`);
  expect(stdout).toMatch(/^warning {2}onEnd {6}no-such-hook was not found$/m);
  expect(stdout).toMatch(/^warning {2}onAsk {6}neither-this was not found$/m);
  expect(await squad.json(['doctor'], { env })).toMatchObject({ ok: true, ownEngines: own });

  const hook = squad.script('hooks/tell.sh', 'exit 0');
  squad.write('../user/.config/squad/config.json', JSON.stringify({ onEnd: ['hooks/tell.sh'] }));
  const { checks } = await squad.json<Doctor>(['doctor'], { env });
  expect(checks.find(check => check.name === 'onEnd')).toMatchObject({
    state: 'ok',
    detail: 'hooks/tell.sh',
  });
  chmodSync(hook, 0o600);
  const blocked = await squad.json<Doctor>(['doctor'], { env });
  expect(blocked.checks.find(check => check.name === 'onEnd')).toMatchObject({
    state: 'warning',
    detail: expect.stringContaining('is not executable'),
  });
  rmSync(file);
});

test('with nothing but a CLI that is too old, says so', async () => {
  const bin = dirname(squad.script('old/claude', "echo '1.0.3 (Claude Code)'"));
  const old = { PATH: `${bin}:${squad.env.PATH}` };
  const { ok, checks } = await squad.json<Doctor>(['doctor'], { env: old });
  expect(ok).toBe(false);
  expect(checks.find(check => check.name === 'engine')).toMatchObject({
    state: 'failed',
    detail: expect.stringContaining('is version 1.0.3; Squad needs'),
  });
});

test('squad run says which engine it took when none is set', { tags: ['A7'] }, async () => {
  const { stderr } = await squad.run(['run', '-d', 'coder', 'x'], { env });
  expect(stderr).toMatch(
    /^No engine is set: using codex 0\.166\.\d, the first one found \(ENGINE_COMMAND sets another\)\.\n/,
  );
});
