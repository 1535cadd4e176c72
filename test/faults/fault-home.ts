import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Handshake } from '../../src/link/handshake.ts';
import { socketPath } from '../../src/link/home.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { confineByDefault } from '../support/confine-by-default.ts';
import { databaseEnvironment } from '../support/test-database.ts';
import { HubLink } from './hub-link.ts';
import { McpLine } from './mcp-line.ts';
import { ROLE_FILES } from './members.ts';
import { until, within } from './patience.ts';
import { hubsOf, isAlive, kill, processesAbout } from './processes.ts';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Killed {
  at: number;
  hubs: number;
}

const COMMAND_MS = 40_000;
const REMOVE_MS = 20_000;

/** A Squad of its own in one folder, with agents that leave proof of what they did beside their output. */
export class FaultHome {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'squad-faults-')));
  readonly home = join(this.root, 'state');
  readonly workspace = join(this.root, 'work');
  /** One file per agent, written by the agent itself. In its folder, where an agent in a sandbox can write too. */
  readonly side = join(this.workspace, 'side');
  private readonly program: string;
  private readonly env: Record<string, string>;
  /** Command that runs commands, and with them the hub, elsewhere, for example in a network namespace. */
  around: string[] = [];

  /** `program` is the folder of the package. */
  constructor(program: string, env: Record<string, string> = {}, roleFiles = ROLE_FILES) {
    this.program = program;
    const agents = join(this.root, 'agents');
    const roles = join(this.root, 'roles');
    for (const folder of [this.workspace, this.side, roles, join(this.root, 'user')]) mkdirSync(folder);
    for (const [name, text] of Object.entries(roleFiles)) writeFileSync(join(roles, name), text);
    cpSync(join(import.meta.dirname, 'agents'), agents, { recursive: true });
    for (const name of ['agent.sh', 'create-chat.sh']) chmodSync(join(agents, name), 0o755);
    this.env = {
      HOME: join(this.root, 'user'),
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      LANG: 'C.UTF-8',
      SQUAD_HOME: this.home,
      SQUAD_HUB_LINGER_MS: '30000',
      SQUAD_AGENTS_DIR: roles,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...databaseEnvironment(),
      RUN_TEMPLATE: `${agents}/agent.sh ${this.side} "<%= chatId %>" <%= task %>`,
      CREATE_CHAT_TEMPLATE: `${agents}/create-chat.sh ${this.side} <%= task %>`,
      ...env,
    };
    confineByDefault(this.env.HOME!);
  }

  /** Runs `squad …` to its end. */
  squad(...args: string[]): Promise<Ran> {
    return this.squadThrough(this.around, ...args);
  }

  /** The same by way of another program, which is given the command as its last arguments. */
  async squadThrough(by: string[], ...args: string[]): Promise<Ran> {
    const [program, ...rest] = [...by, process.execPath, join(this.program, 'bin', 'squad.cjs'), ...args];
    const child = spawn(program!, rest, {
      cwd: this.workspace,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', chunk => {
        said[name] += chunk;
      });
    const ended = new Promise<Ran>(settle => child.once('close', code => settle({ code, ...said })));
    return within(COMMAND_MS, `squad ${args.join(' ')}`, ended).finally(() => child.kill('SIGKILL'));
  }

  async set(key: string, value: number): Promise<void> {
    const { code, stderr } = await this.squad('config', 'set', key, String(value));
    if (code !== 0) throw new Error(`squad config set ${key} ${value}: ${stderr}`);
  }

  mcp(isStateful = false): McpLine {
    const args = [join(this.program, 'bin', 'squad.cjs'), 'mcp'];
    return new McpLine(args, { cwd: this.workspace, env: this.envFor(isStateful) });
  }

  /** The server an agent is given: `squad mcp` in the name of its run. */
  relay(identity: string): ChildProcess {
    const args = [join(this.program, 'bin', 'squad.cjs'), 'mcp', '--identity', identity];
    return spawn(process.execPath, args, { cwd: this.workspace, env: this.env, stdio: 'pipe' });
  }

  /** Null when no hub is there. */
  findHub(isStateful = false): Promise<HubLink | null> {
    const hello: Handshake = {
      squad: 1,
      version: '0.0.0',
      view: 'control',
      pid: process.pid,
      cwd: this.workspace,
      env: this.envFor(isStateful),
    };
    return HubLink.connect(socketPath(this.home), hello);
  }

  /** A link to the hub, which is started by an ordinary command if it is not there. */
  async hub(isStateful = false, ...starter: string[]): Promise<HubLink> {
    return until('a hub that answers', async () => {
      const found = await this.findHub(isStateful);
      if (!found) await this.squad(...(starter.length > 0 ? starter : ['hub', 'start']));
      return found;
    });
  }

  hubPids(): number[] {
    return hubsOf(this.home);
  }

  /** Kills every hub of this home: there are several while they are still settling which of them stays. */
  async killHub(): Promise<Killed> {
    const pids = this.hubPids();
    const at = Date.now();
    for (const pid of pids) kill(pid, 'SIGKILL');
    await until('the end of the killed hub', () => pids.every(pid => !isAlive(pid)));
    return { at, hubs: pids.length };
  }

  /** Ends everything and removes the folder. Returns what was left once the hub had gone. */
  async remove(): Promise<string[]> {
    // A hub that does not stop on request is killed below, with all its processes.
    for (const order of [
      ['cancel', '--all', '--everywhere'],
      ['hub', 'stop'],
    ])
      await within(REMOVE_MS, order.join(' '), this.squad(...order)).catch(() => {});
    // The proxy process of sandboxes waits a little for another hub.
    await until('the end of all processes', () => processesAbout(this.root).length === 0, REMOVE_MS).catch(
      () => {},
    );
    const left = processesAbout(this.root);
    for (const { pid } of left) kill(pid, 'SIGKILL');
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
    return left.map(({ pid, command }) => `${pid} ${command}`);
  }

  private envFor(isStateful: boolean): Record<string, string> {
    return { ...this.env, STATE_MODE: isStateful ? 'stateful' : 'stateless' };
  }
}
