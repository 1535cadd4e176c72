import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { type ModelServer, startModelServer } from '../engines/model-server/server.ts';
import { RawMcp } from './raw-mcp.ts';
import { BIN, isAlive, type StartOptions, TestSquad, until } from './squad.ts';

const SERVERS = join(import.meta.dirname, '..', 'servers');

export interface SubagentGiven {
  description?: string;
  schema?: object;
  timeout?: string;
  maxTurns?: number;
  /** Fields of its file that are added or replaced. */
  more?: object;
  servers?: Record<string, object>;
}

/** A Squad with a model on loopback, and files of subagents for it. */
export class Subagents implements AsyncDisposable {
  readonly squad: TestSquad;
  readonly model: ModelServer;

  private constructor(squad: TestSquad, model: ModelServer) {
    this.squad = squad;
    this.model = model;
  }

  static async start(env: Record<string, string> = {}): Promise<Subagents> {
    return new Subagents(new TestSquad({ MODEL_KEY: 'fake', ...env }), await startModelServer());
  }

  /** Writes the file of a subagent, and what it refers to; returns its path. */
  write(name: string, given: SubagentGiven = {}): string {
    const { description = `What ${name} does`, schema, timeout, maxTurns, servers, more } = given;
    if (schema) this.squad.write(`${name}.schema.json`, JSON.stringify(schema));
    const content = {
      version: '1.0',
      models: [
        {
          ref: 'main',
          id: 'claude-test',
          type: 'anthropic',
          base_url: this.model.url,
          api_key_env: 'MODEL_KEY',
        },
      ],
      subagent: { name, description, ...(schema && { outputSchemaPath: `./${name}.schema.json` }) },
      defaults: { model: 'main', ...(timeout && { timeout }), ...(maxTurns && { maxTurns }) },
      ...(servers && { mcpServers: servers }),
      ...more,
    };
    // JSON is YAML too.
    return this.squad.write(`${name}.yaml`, JSON.stringify(content, null, 2));
  }

  args = (name: string): string[] => ['serve', '--config', join(this.squad.workspace, `${name}.yaml`)];

  /** A client that writes by hand, of the older revisions. */
  client(name: string, options: StartOptions = {}): Promise<RawMcp> {
    return RawMcp.legacy(this.squad, { args: this.args(name), ...options });
  }

  /** The official SDK's. */
  sdk(name: string, modern = false): Promise<Client> {
    return this.squad.client({ args: this.args(name), modern });
  }

  runs(): Promise<ListedRun[]> {
    return this.squad.json<{ runs: ListedRun[] }>(['ls', '--all']).then(({ runs }) => runs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.squad[Symbol.asyncDispose]();
    await this.model.close();
  }
}

export interface ListedRun {
  id: string;
  status: string;
  options: { subagent: string | null };
  parentId: string | null;
  depth: number;
  task: string;
  directory: string;
  workspace: string;
}

/** A server of ours as a subagent's file names it. */
export const ownServer = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [join(SERVERS, `${name}.ts`), ...args],
});

/** Another subagent as a server. */
export const nested = (file: string) => ({
  command: process.execPath,
  args: [BIN, 'mcp', 'serve', '--config', file],
});

/** Result of a call: its one text block, and whether it is an error. */
export async function said(
  client: RawMcp,
  id: number,
): Promise<{ text: string; isError: boolean; structured?: unknown }> {
  const { result, error } = await client.answer(id);
  if (!result) throw new Error(`No result: ${JSON.stringify(error)}`);
  const [block, ...more] = result.content as { type: string; text: string }[];
  if (block?.type !== 'text' || more.length > 0) throw new Error(`Not one text: ${JSON.stringify(result)}`);
  return {
    text: block.text,
    isError: result.isError === true,
    ...(result.structuredContent !== undefined && { structured: result.structuredContent }),
  };
}

export async function errorOf(client: RawMcp, id: number) {
  const { text, isError } = await said(client, id);
  if (!isError) throw new Error(`No error: ${text}`);
  return (
    JSON.parse(text) as {
      error: { code: string; message: string; suggestions: string[]; details?: { run_id: string } };
    }
  ).error;
}

export const allGone = (pids: number[]) =>
  until(`nothing is left of ${pids.join(', ')}`, () => pids.every(pid => !isAlive(pid)));
