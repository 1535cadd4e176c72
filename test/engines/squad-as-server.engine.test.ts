/** The CLIs as clients of Squad: installed with `squad install`, used in a script as that command says. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliName, cliAt } from '../../scripts/engine-clis.ts';
import { BIN, ended, type Ran, TestSquad } from '../support/squad.ts';
import { type AgentHome, agentHome } from './agent-home.ts';
import { chosenClis } from './chosen-clis.ts';
import { mock } from './model-server/script.ts';
import { type ModelServer, startModelServer } from './model-server/server.ts';
import { setUpClis } from './user-setup.ts';

const MCP_BIN = join(dirname(BIN), 'squad-mcp.cjs');

interface Client {
  install: string;
  /** Extra arguments for this test: no repository, a server that starts slowly, an untrusted folder. */
  more?: string;
  /** Of those that need nothing to call a tool in a script. */
  command?: string;
}

const CLIENTS: Record<CliName, Client> = {
  claude: { install: 'claude-code' },
  codex: { install: 'codex', more: '--skip-git-repo-check -c mcp_servers.squad.required=true -' },
  gemini: { install: 'gemini', more: '--skip-trust' },
  opencode: { install: 'opencode', command: 'opencode run --title T' },
  copilot: { install: 'copilot' },
  qwen: { install: 'qwen' },
};

describe.each(chosenClis())('%s with Squad installed in it, in a script', name => {
  let model: ModelServer;
  let place: AgentHome;
  let squad: TestSquad;
  let command: string;
  beforeAll(async () => {
    model = await startModelServer();
    place = agentHome();
    const env = setUpClis([name], place.home, model.url);
    squad = new TestSquad({ ...env, ENGINE_COMMAND: 'scripted', ENABLE_TOOL_SEARCH: 'false' }, place.home);
    if (name === 'gemini') chooseKey(place.home);
    const { install, more = '', command: plain } = CLIENTS[name];
    const { code, stdout } = await squad.run(['install', install, '--yes']);
    expect(code).toBe(0);
    const [, advised = plain] = /In a script, allow the tools: `(.*)`/.exec(stdout) ?? [];
    command = `${advised} ${more}`;
  });
  afterAll(async () => {
    await squad[Symbol.asyncDispose]();
    place[Symbol.dispose]();
    await model.close();
  });

  /** The tool result that its model receives for a call. */
  async function told(call: string, args: Record<string, unknown>): Promise<string> {
    const steps = [{ call, arguments: args }, { text: 'Seen.' }];
    const child = spawn('/bin/sh', ['-c', command], { cwd: squad.workspace, env: squad.env, stdio: 'pipe' });
    child.stdin.end(`Call it. ${mock(steps, call)}`);
    const ran: Ran = await ended(child);
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('Seen.') });
    return model.requests.findLast(({ tag, step }) => tag === call && step === 1)!.toolResults.join('\n');
  }

  test('starts an agent with the command that squad install advises', async () => {
    const prompt = 'Work.\n```script\nreport The scripted one was here.\n```';
    // Codex has a tool of that name itself.
    const tool = name === 'codex' ? 'squad__spawn_agent' : 'spawn_agent';
    expect(await told(tool, { prompt, include_context: false })).toContain('The scripted one was here.');
  });

  test('tells its model once what went wrong', async () => {
    const said = await told('get_result', { spawn_id: 'run_unheard0f' });
    expect(said.split('There is no run run_unheard0f')).toHaveLength(2);
    expect(said).toContain('RUN_UNKNOWN');
  });
});

describe.each(chosenClis().filter(name => name === 'claude'))('the plugin in %s', name => {
  const { program } = cliAt(name);
  const root = resolve(import.meta.dirname, '..', '..');
  let model: ModelServer;
  let place: AgentHome;
  let squad: TestSquad;
  beforeAll(async () => {
    model = await startModelServer();
    place = agentHome();
    const env = setUpClis([name], place.home, model.url);
    // Claude Code does not wait for servers of plugins unless it is made to.
    const waiting = { MCP_CONNECTION_NONBLOCKING: 'false', ENABLE_TOOL_SEARCH: 'false' };
    squad = new TestSquad({ ...env, ...waiting, ENGINE_COMMAND: 'scripted' }, place.home);
    await squad.hubPid();
    // The package is not in a registry that can be reached from here.
    const npx = join(place.home, 'bin', 'npx');
    writeFileSync(
      npx,
      `#!/bin/sh\necho "$1 $2" > "${place.home}/npx-args"\nshift 2\nexec "${process.execPath}" "${MCP_BIN}" "$@"\n`,
    );
    chmodSync(npx, 0o755);
  });
  afterAll(async () => {
    await squad[Symbol.asyncDispose]();
    place[Symbol.dispose]();
    await model.close();
  });
  const claude = (args: string[], input = ''): Promise<Ran> => {
    const child = spawn(program, args, { cwd: squad.workspace, env: squad.env, stdio: 'pipe' });
    child.stdin.end(input);
    return ended(child);
  };

  test('is valid, and so is the marketplace that lists it', async () => {
    for (const folder of [join(root, 'plugin'), root])
      expect(await claude(['plugin', 'validate', folder])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Validation passed'),
      });
  });

  test('is installed from the marketplace, offers the roles as agents, and starts an agent', async () => {
    expect(await claude(['plugin', 'marketplace', 'add', root])).toMatchObject({ code: 0 });
    expect(await claude(['plugin', 'install', 'squad@squad-mcp'])).toMatchObject({ code: 0 });
    const { stdout: details } = await claude(['plugin', 'details', 'squad']);
    expect(details).toMatch(/Skills \(1\) +squad\n/);
    expect(details).toMatch(/Agents \(7\) .*\bcoder\b/);
    const task = 'Work.\n```script\nreport The scripted one was here.\n```';
    const steps = [
      { call: 'spawn_agent', arguments: { prompt: task, include_context: false } },
      { text: 'Seen.' },
    ];
    const ran = await claude(
      ['-p', '--allowedTools', 'mcp__plugin_squad_squad'],
      `Call it. ${mock(steps, 'plugin')}`,
    );
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('Seen.') });
    const last = model.requests.findLast(({ tag, step }) => tag === 'plugin' && step === 1)!;
    expect(last.toolResults.join('\n')).toContain('The scripted one was here.');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(readFileSync(join(place.home, 'npx-args'), 'utf8')).toBe(`-y squad-mcp@${version}\n`);
  });

  test('beside an entry that squad install wrote is reported by the doctor', async () => {
    expect(await squad.run(['install', 'claude-code', '--yes'])).toMatchObject({ code: 0 });
    expect((await squad.run(['doctor'])).stdout).toContain(
      'Claude Code has Squad more than once: the plugin squad@squad-mcp',
    );
  });
});

/** Gemini CLI takes a key from the environment only if its settings select that. */
function chooseKey(home: string): void {
  const file = join(home, '.gemini', 'settings.json');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }));
}
