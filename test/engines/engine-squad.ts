/** A whole Squad with the real CLIs and a scripted model: its own home, its own hub, its own MCP client. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { RunResult } from '../../src/operations/runs/run-result.ts';
import { freePort } from '../support/free-port.ts';
import { callTool, TestSquad, until } from '../support/squad.ts';
import { type AgentHome, agentHome } from './agent-home.ts';
import type { Step } from './model-server/script.ts';
import { type ModelServer, startModelServer } from './model-server/server.ts';
import { setUpClis } from './user-setup.ts';

/** Real CLIs take seconds to start, and longer on a busy machine. */
const END_TIMEOUT_MS = 200_000;

/** Starts a program that needs permission. The model of Codex has to ask for it. */
export const needsPermission = (name: CliName, command: string): Step =>
  name === 'codex'
    ? {
        call: 'exec_command',
        arguments: { cmd: command, sandbox_permissions: 'require_escalated', justification: 'It writes.' },
      }
    : { shell: command };

interface Beginning {
  /** Role id → the text of its file. */
  roles?: Record<string, string>;
  /** Everything below the user's home, as with real users, and not in the temp folder, where Codex lets its agents write. */
  inHome?: boolean;
  /** Address of the model server, in the network 127.0.0.0/8. */
  modelHost?: string;
  /** Setup of the user before the first run. */
  prepare?: (squad: TestSquad, home: string) => Promise<void>;
}

export class EngineSquad implements AsyncDisposable {
  readonly server: ModelServer;
  readonly squad: TestSquad;
  readonly #place: AgentHome;
  readonly #client: Client;
  /** The hub and the relay: whatever else is alive later belongs to an agent. */
  readonly #ours: number[];

  private constructor(server: ModelServer, place: AgentHome, squad: TestSquad, client: Client) {
    this.server = server;
    this.squad = squad;
    this.#place = place;
    this.#client = client;
    this.#ours = place.processes();
  }

  static async start(
    names: CliName[],
    { roles = {}, inHome = false, modelHost, prepare }: Beginning = {},
  ): Promise<EngineSquad> {
    const server = await startModelServer(0, modelHost);
    const place = agentHome();
    const squad = new TestSquad(
      { ...setUpClis(names, place.home, server.url), MCP_SERVER_PORT: String(await freePort()) },
      inHome ? place.home : undefined,
    );
    squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
    mkdirSync(squad.env.SQUAD_AGENTS_DIR);
    for (const [id, text] of Object.entries(roles))
      writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, `${id}.md`), text);
    await prepare?.(squad, place.home);
    await squad.unlimited();
    const client = await squad.client({ env: { STATE_MODE: 'stateful' } });
    return new EngineSquad(server, place, squad, client);
  }

  /** Spawns an agent and waits for its end. */
  async spawn(engine: CliName, prompt: string, more: object = {}): Promise<RunResult> {
    const { spawn_id } = await this.begin(engine, prompt, more);
    return this.end(spawn_id);
  }

  begin(engine: string, prompt: string, more: object = {}): Promise<RunResult> {
    return this.call('spawn_agent', { engine, prompt, include_context: false, async: true, ...more });
  }

  /** One call waits only as long as every client does. */
  async end(spawn_id: string, patienceMs = END_TIMEOUT_MS): Promise<RunResult> {
    const giveUp = Date.now() + patienceMs;
    for (;;) {
      const result = await this.call('get_result', { spawn_id, wait_seconds: 30 });
      if (result.success !== null) return result;
      if (Date.now() > giveUp) throw new Error(`it does not end: ${JSON.stringify(result)}`);
    }
  }

  async call<T = RunResult>(tool: string, args: object): Promise<T> {
    const { isError, ...result } = await callTool(this.#client, tool, args as Record<string, unknown>);
    // The result of a failed run is marked as an error too, but a refusal has nothing beside its error.
    if (isError && Object.keys(result).join() === 'error') throw new Error(JSON.stringify(result));
    return result as T;
  }

  /** The process of the CLI itself: the last one the wrapper of the run's turn started, after its watchdog. */
  agentProgram(spawn_id: string): Promise<number> {
    const file = join(this.squad.home, 'runs', spawn_id, 'turn-1', 'pid');
    return until('the wrapper has started the CLI', () => {
      const wrapper = Number.parseInt(readFileSync(file, 'utf8'), 10);
      const children = readFileSync(`/proc/${wrapper}/task/${wrapper}/children`, 'utf8').trim().split(' ');
      return children.length > 1 && Number(children.at(-1));
    });
  }

  /** Output of the CLI in its first turn so far. */
  output(spawn_id: string): string {
    return readFileSync(join(this.squad.home, 'runs', spawn_id, 'turn-1', 'stdout'), 'utf8');
  }

  /** Resolves when no process of any agent is left. `others`: processes that were there before, such as MCP servers. */
  async nothingLeft(others: number[] = []): Promise<void> {
    const left = () => this.agents().filter(pid => !others.includes(pid));
    await until('no process of an agent is left', () => left().length === 0);
  }

  agents(): number[] {
    return this.#place.processes().filter(pid => !this.#ours.includes(pid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.squad[Symbol.asyncDispose]();
    this.#place[Symbol.dispose]();
    await this.server.close();
  }
}
