/** `squad agent` without a hub: a request file, a prompt, and the lines it prints. As a process, or its loop in the test's own process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAgent } from '../../src/model-loop/agent.ts';
import { createOutputWriter } from '../../src/model-loop/output-lines.ts';
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

  /** In this process: the loop from the request file to the last line, without the start of a process. */
  async ask(type: ModelType, prompt: string, changes: Changes = {}): Promise<Talked> {
    const requestFile = this.#request(type, changes);
    let stdout = '';
    const output = createOutputWriter({ write: text => (stdout += text) });
    using printed = printedHere();
    const exit = await runAgent({
      ...{ requestFile, prompt, cwd: this.cwd, signal: new AbortController().signal },
      replaceKilledHub: async () => {},
      env: this.#env(changes.env),
      ...output,
    });
    return talk(stdout, printed.text(), exit);
  }

  /** As the hub starts it. */
  askProcess(type: ModelType, prompt: string, changes: Changes = {}): Promise<Talked> {
    return this.begin(type, prompt, changes).ended;
  }

  begin(
    type: ModelType,
    prompt: string,
    changes: Changes = {},
  ): { child: ChildProcess; ended: Promise<Talked> } {
    return this.beginWith([this.#request(type, changes)], prompt, changes.env);
  }

  #request(type: ModelType, { model, env: _, ...changes }: Changes): string {
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
    return file;
  }

  #env(env: Record<string, string> = {}): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      HOME: this.folder,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      TEST_KEY: KEY,
      ...env,
    };
  }

  beginWith(args: string[], prompt: string, env?: Record<string, string>) {
    const child = spawn(process.execPath, [AGENT, ...args], { cwd: this.cwd, env: this.#env(env) });
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

async function talked(child: ChildProcess): Promise<Talked> {
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', chunk => (stdout += chunk));
  child.stderr!.setEncoding('utf8').on('data', chunk => (stderr += chunk));
  const exit = await new Promise<number | string | null>(settle =>
    child.once('close', (code, signal) => settle(code ?? signal)),
  );
  return talk(stdout, stderr, exit);
}

/** Every line must be one of the agent's own: anything else on standard output throws. */
function talk(stdout: string, stderr: string, exit: Talked['exit']): Talked {
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

const CONSOLE = ['debug', 'error', 'info', 'log', 'warn'] as const;

/** What libraries print while the agent runs here; a process would print it on standard error or between its lines. */
function printedHere(): Disposable & { text(): string } {
  const printed: unknown[] = [];
  const own = CONSOLE.map(name => console[name]);
  for (const name of CONSOLE) console[name] = (...args) => void printed.push(...args);
  const onWarning = (warning: Error) => void printed.push(warning);
  process.on('warning', onWarning);
  return {
    text: () => printed.map(String).join('\n'),
    [Symbol.dispose]() {
      process.off('warning', onWarning);
      for (const [at, name] of CONSOLE.entries()) console[name] = own[at]!;
    },
  };
}
