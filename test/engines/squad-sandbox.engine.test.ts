/** The real CLIs in Squad's sandbox, at both levels: whatever they need is there, and they end as they do outside. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Decoys, HOME_SECRETS, plantDecoys } from '../../src/cli/setup/policy/decoys.ts';
import { PROBES, probeScript, readReport } from '../../src/cli/setup/policy/probes.ts';
import type { Run } from '../../src/schema/run.ts';
import { echoBlock } from '../servers/start.ts';
import { makeRepository, userGit } from '../support/git-squad.ts';
import { isAlive, type TestSquad, until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';
import { trustProject } from './trusted-project.ts';

const LEVELS = ['workspace', 'strict'] as const;
/** Not one of the addresses that programs reach without the proxy: in a limited network only the proxy leads there. */
const MODEL_HOST = '127.0.0.2';
const WAIT_TIMEOUT_MS = 60_000;
const CONFIG = { servers: { echo: echoBlock() }, agentServers: { coder: ['echo'] } };

/** Which probes each level promises to refuse: with the full network nothing on it is. */
const PROMISED = {
  workspace: PROBES.filter(({ rule }) => rule !== 'network'),
  strict: PROBES,
};

describe.each(chosenClis())('%s', { tags: ['I1', 'I4'] }, name => {
  let it: EngineSquad;
  let decoys: Decoys;
  beforeAll(async () => {
    it = await EngineSquad.start([name], {
      inHome: true,
      modelHost: MODEL_HOST,
      roles: {
        coder: `---\nisolation: worktree\nengine: ${name}\n---\nYou code.\n`,
        reader: `---\nisolation: worktree\npermission: read\nengine: ${name}\n---\nYou read.\n`,
      },
      prepare: async (squad, home) => {
        makeRepository(squad);
        trustProject(name, home, squad.workspace);
        squad.write('.squad/mcp-config.json', JSON.stringify(CONFIG));
        const git = (...args: string[]) => userGit(squad.workspace, squad.env, ...args);
        git('add', '-A');
        git('commit', '-qm', 'Settings');
        // Not for each command: Gemini CLI holds `git -c` to be dangerous and refuses it.
        git('config', 'user.name', 'User');
        git('config', 'user.email', 'user@example.com');
      },
    });
    decoys = await decoysAround(it.squad);
    rmSync(join(it.squad.home, 'trust.json'));
    const { code, stderr } = await it.squad.run(['trust', '-y', '.squad/mcp-config.json']);
    expect(code, stderr).toBe(0);
    // A server that is slow to start may miss a CLI's first look at its tools.
    await it.squad.json(['mcp', 'tools', '--role', 'coder']);
  });
  afterAll(async () => {
    await decoys.close();
    await it[Symbol.asyncDispose]();
  });

  /** Things that an agent must not reach, and a role that may reach one host. */
  async function decoysAround({
    root,
    env,
    home: squadHome,
    workspace: repository,
  }: TestSquad): Promise<Decoys> {
    const home = env.HOME!;
    const folder = join(root, 'decoys');
    mkdirSync(folder);
    const planted = await plantDecoys({ folder, home, squadHome, repository });
    // An agent can read the login of its own CLI, which does not start with one that means nothing.
    const [, login] = HOME_SECRETS.find(([id]) => id === `${name}-login`)!;
    rmSync(join(home, login));
    planted.commit({ 'probes.sh': probeScript(planted) });
    for (const level of LEVELS) {
      const hosts = level === 'strict' ? `hosts: ["localhost:${planted.ports.allowed}"]\n` : '';
      const role = `---\nisolation: worktree\nengine: ${name}\n${hosts}---\nYou probe.\n`;
      writeFileSync(join(env.SQUAD_AGENTS_DIR!, `prober-${level}.md`), role);
    }
    return planted;
  }

  const git = (...args: string[]) => userGit(it.squad.workspace, it.squad.env, ...args);
  const shown = async (id: string) => (await it.squad.json<{ run: Run }>(['show', id])).run;
  const asked = (tag: string, step: number) =>
    it.server.requests.findLast(call => call.tag === tag && call.step === step);
  const reply = async (run: string, prompt: string): Promise<string> => {
    const { runIds } = await it.squad.json<{ runIds: [string] }>(['reply', '-d', run, prompt]);
    return runIds[0];
  };

  describe.each(LEVELS)('in a sandbox "%s"', sandbox => {
    test('works, commits, reaches Squad, continues its chat, and is cancelled without leaving anything', async () => {
      const long = 'All work and no play. '.repeat(9_400);
      const work = `${sandbox}-work`;
      const steps = [
        { shell: `echo made > made.txt; git add made.txt; git commit -q -m "Made in ${sandbox}"` },
        { write: { path: 'written.txt', content: 'written' } },
        { call: 'squad_status', arguments: {} },
        { call: 'echo__echo', arguments: { nonce: 'through the gateway' } },
        { text: 'Made it.' },
      ];
      const first = await it.spawn(name, `${long} Remember plums. ${mock(steps, work)}`, {
        roleId: 'coder',
        sandbox,
      });
      expect(first.error).toBeUndefined();
      expect(first).toMatchObject({ status: 'completed', success: true, result: 'Made it.', sandbox });
      expect(it.server.first(work)!.prompt).toContain(`${long} Remember plums.`);
      expect(asked(work, 3)?.toolResults.at(-1)).toContain(first.spawn_id);
      expect(asked(work, 4)?.toolResults.at(-1)).toContain('through the gateway');
      const { worktree } = await shown(first.spawn_id);
      expect(git('log', '-1', '--format=%s', worktree!.branch)).toBe(`Made in ${sandbox}`);
      expect(readFileSync(join(worktree!.path, 'written.txt'), 'utf8')).toBe('written');

      // Its chat is in a home of its own, which the next hub finds again.
      const hub = await it.squad.hubPid();
      process.kill(hub, 'SIGKILL');
      await until('the hub is gone', () => !isAlive(hub));
      const second = await it.end(
        await reply(first.spawn_id, `What was it? ${mock([{ text: 'Plums.' }], `${sandbox}-chat`)}`),
      );
      expect(second).toMatchObject({
        status: 'completed',
        result: 'Plums.',
        chat_id: first.chat_id,
        sandbox,
      });
      const said = it.server.first(`${sandbox}-chat`)!.turns.map(({ text }) => text);
      expect(said.join('\n')).toContain('Remember plums.');
      expect(said.join('\n')).toContain('Made it.');

      await until('only the new hub and its MCP server are left', () => it.agents().length <= 2);
      const others = it.agents();
      const waiting = { shell: 'sleep 1; touch started; exec tail -f /dev/null' };
      const third = await reply(first.spawn_id, `Wait. ${mock([waiting], `${sandbox}-wait`)}`);
      await until('its command runs', () => existsSync(join(worktree!.path, 'started')), WAIT_TIMEOUT_MS);
      expect(it.agents().length).toBeGreaterThan(others.length);
      await it.call('cancel_run', { spawn_id: third });
      expect(await it.end(third)).toMatchObject({ status: 'cancelled', success: false });
      await it.nothingLeft(others);
    });

    test('none of the probes succeeds through its own shell', { tags: ['I3'] }, async () => {
      const steps = [
        { shell: 'sh probes.sh > probes.txt 2>&1; touch probed' },
        // Codex does not wait for a command that takes long.
        { shell: 'until [ -e probed ]; do sleep 0.2; done' },
        { text: 'Probed.' },
      ];
      const ran = await it.spawn(name, `Probe. ${mock(steps, `${sandbox}-probes`)}`, {
        roleId: `prober-${sandbox}`,
        sandbox,
      });
      expect(ran.error).toBeUndefined();
      expect(ran).toMatchObject({ status: 'completed', result: 'Probed.', sandbox });
      const { worktree } = await shown(ran.spawn_id);
      const output = readFileSync(join(worktree!.path, 'probes.txt'), 'utf8');
      const { succeeded, fault } = readReport(output, decoys, PROMISED[sandbox]);
      expect({ fault, succeeded: [...succeeded] }).toEqual({ fault: null, succeeded: [] });
    });
  });

  test('with permission read its folder is read-only', async () => {
    const steps = [{ shell: 'touch no.txt' }, { text: 'Tried.' }];
    const ran = await it.spawn(name, `Try. ${mock(steps, 'read')}`, {
      roleId: 'reader',
      sandbox: 'workspace',
    });
    expect(ran).toMatchObject({ status: 'completed', sandbox: 'workspace' });
    const { path } = (await shown(ran.spawn_id)).worktree!;
    expect(existsSync(join(path, 'no.txt'))).toBe(false);
    // Not every CLI has a shell with this permission, so what the system holds is read from the mounts.
    const mounts = readFileSync(join(it.squad.home, 'runs', ran.spawn_id, 'turn-1', 'sandbox.args'), 'utf8');
    expect(mounts).toContain(['--ro-bind', path, path, ''].join('\0'));
  });
});
