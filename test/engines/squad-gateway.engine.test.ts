/** Tools of other MCP servers, as the real CLIs show them to their model and call them: what the role has, and nothing else. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { AuditRecord } from '../../src/schema/audit.ts';
import { echoBlock, hostileBlock, sdkEchoBlock, variable } from '../servers/start.ts';
import { type TestSquad, until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock, type Step } from './model-server/script.ts';

const WAIT_TIMEOUT_MS = 60_000;
const TOKEN = 'token-4hT9sLw0';
/** As long as an id can be; its tools have names as long as they can be. */
const LONG = 'a-server-with-a-long-id1';

/** As many as big servers have. */
const PLENTY = Array.from({ length: 120 }, (_, at) => `tool_${at}`);

/** Whether the CLI lists its tools again after a notification that they have changed. */
const LISTS_AGAIN: Record<CliName, boolean> = {
  claude: true,
  codex: false,
  gemini: true,
  opencode: true,
  copilot: true,
  qwen: false,
};

/** Whether the CLI passes a server's instructions to its model: they say which servers are unavailable at the start. */
const SHOWS_NOTICES: Record<CliName, boolean> = {
  claude: true,
  codex: false,
  gemini: true,
  opencode: true,
  copilot: false,
  qwen: true,
};

const ROLES = {
  coder: 'You code.\n',
  reviewer: '---\npermission: read\n---\nYou review.\n',
  keeper: '---\nenv: [ECHO_TOKEN]\n---\nYou keep the keys.\n',
  unlucky: 'You have no luck.\n',
  nomad: 'You get and lose.\n',
  rich: 'You have plenty.\n',
};

const config = (countFile: string, takenFromNomads: string) => ({
  servers: {
    echo: echoBlock({ env: { COUNT_FILE: countFile, TOKEN: variable('ECHO_TOKEN') } }),
    sdk: sdkEchoBlock(),
    [LONG]: hostileBlock('long-names'),
    absent: { command: '/nowhere/server', tools: ['*'] },
    broken: hostileBlock('dies-at-start'),
    frail: hostileBlock('dies-before-answer'),
    many: hostileBlock('many-tools', { tools: PLENTY }),
  },
  agentServers: {
    coder: ['echo', 'sdk'],
    reviewer: ['echo', LONG],
    keeper: ['echo'],
    unlucky: ['absent', 'broken', 'frail', 'echo'],
    nomad: ['echo'],
    rich: ['many'],
  },
  toolRestrictions: {
    coder: { echo: { exclude: ['about'] } },
    reviewer: { echo: { include: ['about', 'echo'] } },
    unlucky: { echo: { include: ['echo'] } },
    nomad: { echo: { exclude: [takenFromNomads] } },
  },
  argumentRules: [{ role: 'coder', server: 'echo', tool: 'count', argument: 'nonce', deny: ['secret*'] }],
});

async function putInForce(squad: TestSquad, content: object): Promise<void> {
  squad.write('.squad/mcp-config.json', JSON.stringify(content));
  const { code, stderr } = await squad.run(['trust', '-y', '.squad/mcp-config.json']);
  expect(code, stderr).toBe(0);
}

/** Other servers' tools among those a CLI offers, without what it puts before them. Codex has no `-` in names. */
const theirs = (tools: string[]): string[] =>
  tools
    .flatMap(
      tool => /(?:echo|sdk|many|absent|broken|frail|a.server.with.a.long.id1)__\w+$/.exec(tool)?.[0] ?? [],
    )
    .map(tool => tool.replaceAll('-', '_'))
    .sort();

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  let countFile: string;
  beforeAll(async () => {
    it = await EngineSquad.start([name], {
      roles: ROLES,
      prepare: async squad => {
        // As root Claude Code does not run with full permission anywhere else.
        Object.assign(squad.env, { ECHO_TOKEN: TOKEN, IS_SANDBOX: '1' });
        countFile = join(squad.root, 'count');
        await putInForce(squad, config(countFile, 'about'));
      },
    });
    // A server that is slow to start may miss a CLI's first look at its tools.
    for (const role of ['coder', 'reviewer', 'rich']) await visible(role);
  });
  afterAll(() => it[Symbol.asyncDispose]());

  const visible = async (role: string) => {
    const { tools } = await it.squad.json<{ tools: { name: string; isVisible: boolean }[] }>([
      ...['mcp', 'tools', '--role', role],
    ]);
    return tools.filter(tool => tool.isVisible).map(tool => tool.name);
  };
  const asked = (tag: string, step: number) =>
    it.server.requests.findLast(call => call.tag === tag && call.step === step)!;
  /** The tool result that the model received after a step. */
  const told = (tag: string, step: number) =>
    // Some CLIs pass on the result as JSON.
    asked(tag, step + 1)
      .toolResults.at(-1)!
      .replaceAll('\\n', '\n')
      .replaceAll('\\"', '"');

  async function completes(tag: string, roleId: string, steps: Step[], more: object = {}): Promise<string> {
    const prompt = `Work. ${mock([...steps, { text: 'Done.' }], tag)}`;
    const { spawn_id, error, ...result } = await it.spawn(name, prompt, { roleId, ...more });
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    return spawn_id;
  }

  /** An agent that waits in a command of its own until it is to go on. */
  async function startRunning(tag: string, roleId: string, steps: Step[] = []): Promise<() => Promise<void>> {
    const wait = { shell: `touch started-${tag}; until [ -e go-${tag} ]; do sleep 0.2; done` };
    const ended = completes(tag, roleId, [wait, ...steps], { permission: 'edit' });
    const started = until(
      'its command runs',
      () => existsSync(join(it.squad.workspace, `started-${tag}`)),
      WAIT_TIMEOUT_MS,
    );
    await Promise.race([started, ended]);
    return async () => {
      it.squad.write(`go-${tag}`, '');
      await ended;
    };
  }

  const audited = async (runId: string) => {
    const { entries } = await it.squad.json<{ entries: AuditRecord[] }>(['audit', '--run', runId]);
    return entries.map(entry => `${entry.decision} ${entry.server} ${entry.name} ${entry.outcome}`);
  };
  const counted = () => (existsSync(countFile) ? readFileSync(countFile, 'utf8') : '');

  test('shows its model the tools of its role, and calls those and no others', async () => {
    const id = await completes('coder', 'coder', [
      { call: 'echo__echo', arguments: { nonce: 'nonce-1' } },
      { unlisted: 'echo__about', arguments: {} },
      { call: 'echo__count', arguments: { nonce: 'secret-1' } },
      { call: 'echo__count', arguments: { nonce: 'open-1' } },
      { call: 'sdk__add', arguments: { a: 20, b: 22 } },
      { call: 'squad_status', arguments: {} },
    ]);
    expect(theirs(asked('coder', 0).tools)).toEqual([
      ...['echo__count', 'echo__echo', 'echo__progress', 'sdk__add', 'sdk__echo'],
    ]);
    expect(told('coder', 0)).toContain('nonce-1');
    expect(told('coder', 1)).toMatch(/echo__about/);
    expect(told('coder', 1)).not.toContain('pid');
    expect(told('coder', 2)).toMatch(/The call was refused: the argument .*nonce.* breaks the rule .*deny/);
    expect(told('coder', 3)).toMatch(/\b1\b/);
    expect(told('coder', 3)).not.toMatch(/error/i);
    expect(told('coder', 4)).toContain('42');
    expect(told('coder', 5)).toContain(id);
    expect(counted()).toBe('open-1\n');
    expect(await audited(id)).toEqual([
      'allowed echo echo ok',
      'denied echo count argument_rule',
      'allowed echo count ok',
      'allowed sdk add ok',
    ]);
  });

  test('in another role it has other tools, also by the longest names', async () => {
    const before = counted();
    const names = (await visible('reviewer')).map(each => each.replaceAll('-', '_')).sort();
    const longest = names.find(each => each.length === 51)!;
    const id = await completes('reviewer', 'reviewer', [
      { unlisted: 'echo__count', arguments: { nonce: 'not mine' } },
      { unlisted: 'sdk__add', arguments: { a: 20, b: 22 } },
      { call: longest.slice(longest.indexOf('__') + 2), arguments: { nonce: 'nonce-2' } },
      { call: 'echo__about', arguments: { env: ['TOKEN'] } },
    ]);
    const offered = asked('reviewer', 0).tools;
    expect(theirs(offered)).toEqual(names);
    expect(names).toHaveLength(8);
    expect(told('reviewer', 1)).not.toContain('42');
    expect(counted()).toBe(before);
    expect(told('reviewer', 2)).toContain('nonce-2');
    expect(told('reviewer', 3)).toContain('[secret ECHO_TOKEN]');
    expect(told('reviewer', 3)).not.toContain(TOKEN);
    expect((await audited(id)).map(line => line.split(' ', 2).join(' '))).toEqual([
      `allowed ${LONG}`,
      'allowed echo',
    ]);
  });

  test.each([
    { permission: 'read' },
    { permission: 'read', tools: ['Read'] },
    { permission: 'edit', tools: ['Read'] },
    { permission: 'edit', tools: [] },
    { permission: 'full' },
    { permission: 'full', tools: ['Read'] },
  ])('calls them whatever it may do itself: %j', async options => {
    const tag = JSON.stringify(options);
    // Unlike one that says it only reads: that some let pass without being allowed to.
    await completes(tag, 'coder', [{ call: 'sdk__add', arguments: { a: 20, b: 22 } }], options);
    expect(told(tag, 0)).toContain('42');
  });

  test('works without a server that is down, and gets an error from one that dies', async () => {
    await visible('unlucky');
    await completes('unlucky', 'unlucky', [
      { call: 'frail__echo', arguments: { nonce: 'lost' } },
      { call: 'echo__echo', arguments: { nonce: 'nonce-4' } },
    ]);
    const { tools, system, turns } = asked('unlucky', 0);
    expect(theirs(tools)).toEqual(['echo__echo', 'frail__echo']);
    const read = [system, ...turns.map(({ text }) => text)].join('\n');
    expect(/of your role (is|are) unavailable:\s+- absent: /.test(read)).toBe(SHOWS_NOTICES[name]);
    expect(told('unlucky', 0)).toContain('The server frail is unavailable');
    expect(told('unlucky', 0)).toContain('Still there for your role: echo (echo__echo)');
    expect(told('unlucky', 1)).toContain('nonce-4');
  });

  test('has a server of many tools whole', async () => {
    await completes('rich', 'rich', [{ call: 'many__tool_77', arguments: { nonce: 'nonce-5' } }]);
    expect(theirs(asked('rich', 0).tools)).toEqual(PLENTY.map(tool => `many__${tool}`).sort());
    expect(told('rich', 0)).toContain('nonce-5');
  });

  /** Programs of agents and servers that have the token in their environment. */
  const holders = () =>
    it
      .agents()
      .filter(pid => ofProcess(pid, 'environ').includes(TOKEN))
      .map(pid => ofProcess(pid, 'cmdline'));
  const isServer = (program: string) => program.includes('servers/echo.ts');

  test("a variable that is there for a server is in no environment of an agent's", async () => {
    const goOn = await startRunning('without', 'coder');
    expect(holders().some(isServer)).toBe(true);
    expect(holders().filter(program => !isServer(program))).toEqual([]);
    await goOn();
  });

  test('unless its role keeps it', async () => {
    const goOn = await startRunning('with', 'keeper');
    expect(holders().filter(program => !isServer(program))).not.toEqual([]);
    await goOn();
  });

  test('cannot call a tool that its role loses while it is running', async () => {
    // A CLI reads its tools again beside its work, some time after the notice, and tells nobody when it has: the work takes a while.
    const rounds = Array.from({ length: 20 }, (_, at) => ({
      call: 'echo__echo',
      arguments: { nonce: `round-${at}` },
    }));
    const goOn = await startRunning('change', 'nomad', [
      { shell: 'sleep 3' },
      ...rounds,
      { unlisted: 'echo__count', arguments: { nonce: 'too late' } },
      { unlisted: 'echo__about', arguments: {} },
    ]);
    expect(theirs(asked('change', 0).tools)).toEqual(['echo__count', 'echo__echo', 'echo__progress']);
    await putInForce(it.squad, config(countFile, 'count'));
    await until('it is in force', async () => (await visible('nomad')).includes('echo__about'));
    await goOn();
    expect(told('change', 21)).toContain('round-19');
    expect(counted()).not.toContain('too late');
    expect(theirs(asked('change', 23).tools).includes('echo__about')).toBe(LISTS_AGAIN[name]);
    expect(told('change', 23).includes('"pid"')).toBe(LISTS_AGAIN[name]);
  });
});

function ofProcess(pid: number, what: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, 'utf8');
  } catch {
    return ''; // it ended meanwhile
  }
}
