/** `squad agent` as the hub starts it, without a hub: a request file, a prompt, and what it prints. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentLine, type AgentRequest } from '../../src/schema/agent-protocol.ts';
import type { TraceMessage } from '../../src/schema/conversation.ts';
import type { ModelType } from '../../src/schema/model-spec.ts';
import { type ModelServer, startModelServer } from '../engines/model-server/server.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';

export const WIRES: ModelType[] = ['anthropic', 'openai', 'responses', 'google'];
export const KEY = 'the-key-of-this-test-0123456789';

const AGENT = join(import.meta.dirname, '..', '..', 'dist', 'agent.cjs');

export type End = Extract<AgentLine, { type: 'end' }>;

export interface Talked {
  lines: AgentLine[];
  messages: TraceMessage[];
  end: End | undefined;
  stdout: string;
  stderr: string;
  exit: number | string | null;
}

type Changes = Partial<Omit<AgentRequest, 'model'>> & {
  model?: Partial<AgentRequest['model']>;
  env?: Record<string, string>;
};

/** A model to talk to, and a folder to do it in. */
export class TalkingAgent implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'squad-agent-'));
  readonly cwd = join(this.folder, 'work');
  readonly chatFile = join(this.folder, 'chat', 'chat.jsonl');
  readonly model: ModelServer;
  readonly #started: ChildProcess[] = [];

  private constructor(model: ModelServer) {
    this.model = model;
    mkdirSync(this.cwd);
  }

  static async start(): Promise<TalkingAgent> {
    return new TalkingAgent(await startModelServer());
  }

  write(name: string, content: string | Uint8Array): string {
    const file = join(this.cwd, name);
    writeFileSync(file, content);
    return file;
  }

  chat(): { last: string; messages: unknown[] } {
    const [, ...lines] = readFileSync(this.chatFile, 'utf8').trimEnd().split('\n');
    const read = lines.map((line): { last: string; messages: unknown[] } => JSON.parse(line));
    return { last: read.at(-1)!.last, messages: read.flatMap(({ messages }) => messages) };
  }

  async ask(type: ModelType, prompt: string, changes: Changes = {}): Promise<Talked> {
    return this.begin(type, prompt, changes).ended;
  }

  begin(
    type: ModelType,
    prompt: string,
    { model, env, ...changes }: Changes = {},
  ): { child: ChildProcess; ended: Promise<Talked> } {
    const request: AgentRequest = {
      model: {
        type,
        id: 'model-1',
        baseUrl: this.model.url,
        apiKeyEnv: 'TEST_KEY',
        headers: {},
        generation: {},
        prices: null,
        ...model,
      },
      systemPrompt: null,
      inputs: [],
      outputSchema: null,
      codeMode: null,
      maxTurns: 10,
      secrets: [{ name: 'TEST_KEY', value: KEY }],
      endpoint: null,
      endsWithHub: false,
      chatFile: this.chatFile,
      continues: false,
      ...changes,
    };
    const file = join(this.folder, 'request.json');
    writeFileSync(file, JSON.stringify(request), { mode: 0o600 });
    return this.beginWith([file], prompt, env);
  }

  beginWith(args: string[], prompt: string, env: Record<string, string> = {}) {
    const child = spawn(process.execPath, [AGENT, ...args], {
      cwd: this.cwd,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: this.folder,
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        TEST_KEY: KEY,
        ...env,
      },
    });
    this.#started.push(child);
    child.stdin.end(prompt);
    return { child, ended: talked(child) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#started) if (child.exitCode === null) child.kill('SIGKILL');
    await this.model.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Every line must be one of the agent's own: anything else on standard output throws. */
async function talked(child: ChildProcess): Promise<Talked> {
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', chunk => (stdout += chunk));
  child.stderr!.setEncoding('utf8').on('data', chunk => (stderr += chunk));
  const exit = await new Promise<number | string | null>(settle =>
    child.once('close', (code, signal) => settle(code ?? signal)),
  );
  const lines = stdout
    .split('\n')
    .filter(Boolean)
    .map(line => AgentLine.parse(JSON.parse(line)));
  return {
    lines,
    messages: lines.flatMap(line => (line.type === 'message' ? [line.message] : [])),
    end: lines.findLast(line => line.type === 'end'),
    stdout,
    stderr,
    exit,
  };
}
