import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withLock } from '../../../src/workspace/files/file-lock.ts';
import { changeLock } from '../../../src/workspace/gateway/change-mcp-config.ts';
import { trust } from '../../../src/workspace/settings/trust.ts';
import { withoutSandbox } from '../../support/confine-by-default.ts';
import { freePort } from '../../support/free-port.ts';
import { FaultHome } from '../fault-home.ts';
import { until } from '../patience.ts';
import { listProcesses, type Seen } from '../processes.ts';
import type { AgentEdge } from './agent-edge.ts';
import { HttpEdge } from './http-edge.ts';
import { LineEdge } from './line-edge.ts';

const WAITS = join(import.meta.dirname, '..', 'agents', 'wait.sh');
const NONCE_SERVER = join(import.meta.dirname, 'nonce-server.ts');
const CONFIG = join('.squad', 'mcp-config.json');

/** A role that can be given more than the others. */
export const EXPOSED = 'exposed';

export interface RunningAgent {
  runId: string;
  edge: AgentEdge;
}

/** A Squad whose agents have tools of other servers. The agents only wait; what they would ask is asked here in their name. */
export class GatewayHome extends FaultHome implements AsyncDisposable {
  /** Folder in which the servers record their calls. */
  readonly facts = join(this.root, 'facts');
  private readonly config = join(this.workspace, CONFIG);
  private readonly url: string;
  private readonly edges: AgentEdge[] = [];
  private hasEnded = false;

  private constructor(program: string, port: number) {
    super(program, {
      RUN_TEMPLATE: `/bin/sh ${WAITS} <%= mcpConfigFile %>`,
      // A whole figure takes longer than agents usually may.
      PROCESS_TIMEOUT_MS: String(4 * 60 * 60_000),
      // The next hub needs it too, so nobody else may take it in between.
      MCP_SERVER_PORT: String(port),
    });
    this.url = `http://127.0.0.1:${port}/mcp`;
    // The tests ask in the name of the agents from outside, and the hub takes a token of a sandbox only from inside.
    withoutSandbox({ env: { HOME: join(this.root, 'user') } });
    writeFileSync(join(this.root, 'roles', `${EXPOSED}.md`), 'You use what you are given.');
    mkdirSync(this.facts);
    mkdirSync(dirname(this.config));
  }

  static async create(program: string): Promise<GatewayHome> {
    const home = new GatewayHome(program, await freePort());
    await home.set('limits.concurrency', 1000);
    await home.set('limits.spawns_per_minute', 100_000);
    await home.set('stop.grace_ms', 300);
    return home;
  }

  /** A block of the configuration: a server that says nonces again. */
  nonceServer(id: string, more: object = {}, ...args: string[]): object {
    return {
      command: process.execPath,
      args: [NONCE_SERVER, id, this.facts, ...args],
      tools: ['*'],
      ...more,
    };
  }

  async configure(config: object): Promise<void> {
    writeFileSync(this.config, JSON.stringify(config));
    const { code, stderr } = await this.squad('trust', '-y', CONFIG);
    if (code !== 0) throw new Error(`squad trust: ${stderr}`);
  }

  /** Writes the file, and returns what it counts as from now on. */
  async apply(text: string): Promise<string> {
    writeFileSync(this.config, text);
    return this.stateOfConfig();
  }

  /** The same with trust in it, in one step, as a command of ours changes it: nobody is without servers meanwhile. */
  async applyTrusted(text: string): Promise<string> {
    await withLock(changeLock(this.home), async () => {
      writeFileSync(this.config, text);
      await trust(this.home, this.config, text);
    });
    return this.stateOfConfig();
  }

  private async stateOfConfig(): Promise<string> {
    const link = await this.hub();
    const { state } = await link.call<{ state: string }>('inspect_gateway');
    link.close();
    return state;
  }

  /** Starts agents of this role, every other one over HTTP, and waits until they are running. */
  async agents(count: number, roleId = 'plain'): Promise<RunningAgent[]> {
    const link = await this.hub();
    const members = Array.from({ length: count }, () => ({ roleId, task: 'wait' }));
    const { members: made } = await link.call<{ members: { memberId: string }[] }>(
      'start_squad_members',
      { members },
      { waitMs: 0 },
    );
    const ids = new Set(made.map(({ memberId }) => memberId));
    await until('every agent is running', async () => {
      const { runs } = await link.call<{ runs: Listed[] }>('list_runs', { limit: 1000 });
      return runs.filter(({ id, status }) => ids.has(id) && status === 'running').length === count;
    });
    link.close();
    return Promise.all(
      [...ids].map(async (runId, at) => ({ runId, edge: await this.edgeOf(runId, at % 2 === 0) })),
    );
  }

  /** By the mark they carry, with all that they started. */
  upstreams(): (Seen & { mark: string })[] {
    return listProcesses().flatMap(seen => {
      const mark = seen.environment.find(entry => entry.startsWith('SQUAD_UPSTREAM='));
      const isOurs = [seen.command, ...seen.environment].some(entry => entry.includes(this.root));
      return mark !== undefined && isOurs ? [{ ...seen, mark }] : [];
    });
  }

  /** The lines the servers left in one of their files. */
  said(file: 'starts' | 'effects'): string[] {
    try {
      return readFileSync(join(this.facts, file), 'utf8').split('\n').filter(Boolean);
    } catch {
      return []; // none yet
    }
  }

  /** Ends everything; what is left of it is a problem. */
  async end(): Promise<string[]> {
    if (this.hasEnded) return [];
    this.hasEnded = true;
    await Promise.all(this.edges.map(edge => edge.close()));
    return (await this.remove()).map(process => `left when the hub had gone: ${process}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  private async edgeOf(runId: string, isHttp: boolean): Promise<AgentEdge> {
    const identity = join(this.home, 'runs', runId, 'turn-1', 'identity.json');
    const edge = isHttp ? this.overHttp(identity) : await this.overLines(identity);
    this.edges.push(edge);
    return edge;
  }

  private overHttp(identity: string): AgentEdge {
    const { token } = JSON.parse(readFileSync(identity, 'utf8')) as { token: string };
    return new HttpEdge(this.url, token);
  }

  private async overLines(identity: string): Promise<AgentEdge> {
    const edge = new LineEdge(this.relay(identity));
    await edge.initialize();
    return edge;
  }
}

interface Listed {
  id: string;
  status: string;
}
