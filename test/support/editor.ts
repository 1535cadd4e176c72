import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import {
  type ClientConnection,
  type ContentBlock,
  client,
  type McpServer,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { type TestSquad, until } from './squad.ts';

type Kind = SessionUpdate['sessionUpdate'];

interface Asked {
  request: RequestPermissionRequest;
  /** Answers with an option, or with `cancelled`. */
  answer(optionId: string | null): void;
  /** True once the agent no longer wants an answer. */
  isWithdrawn: boolean;
}

/** An editor: the official SDK's client on a real `squad acp`. */
export class Editor implements AsyncDisposable {
  readonly updates: { session: string; update: SessionUpdate }[] = [];
  readonly asked: Asked[] = [];
  readonly child: ChildProcess;
  private readonly connection: ClientConnection;

  private constructor(child: ChildProcess, name: string) {
    this.child = child;
    child.stderr!.resume();
    this.connection = client({ name })
      .onNotification(methods.client.session.update, ({ params: { sessionId: session, update } }) => {
        this.updates.push({ session, update });
      })
      .onRequest(methods.client.session.requestPermission, ({ params: request, signal }) => {
        const { promise, resolve } = Promise.withResolvers<RequestPermissionResponse>();
        const asked: Asked = {
          request,
          isWithdrawn: false,
          answer: optionId =>
            resolve({
              outcome: optionId === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId },
            }),
        };
        signal.addEventListener('abort', () => {
          asked.isWithdrawn = true;
          asked.answer(null);
        });
        this.asked.push(asked);
        return promise;
      })
      .connect(
        ndJsonStream(
          Writable.toWeb(child.stdin!),
          Readable.toWeb(child.stdout!) as unknown as ReadableStream<Uint8Array>,
        ),
      );
  }

  static async start(
    squad: TestSquad,
    name = 'test-editor',
    env: Record<string, string> = {},
  ): Promise<Editor> {
    const editor = new Editor(squad.start(['acp'], { env }), name);
    await editor.initialize(name);
    return editor;
  }

  initialize(name: string) {
    return this.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name, version: '1' },
      clientCapabilities: {},
    });
  }

  get agent() {
    return this.connection.agent;
  }

  open(cwd: string, mcpServers: McpServer[] = []) {
    return this.agent.request(methods.agent.session.new, { cwd, mcpServers });
  }

  load(sessionId: string, cwd: string, mcpServers: McpServer[] = []) {
    return this.agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers });
  }

  async prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<string> {
    const blocks: ContentBlock[] = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;
    return (await this.agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks })).stopReason;
  }

  cancel(sessionId: string): Promise<void> {
    return this.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  of<K extends Kind>(session: string, kind: K): Extract<SessionUpdate, { sessionUpdate: K }>[] {
    return this.updates.flatMap(({ session: id, update }) =>
      id === session && update.sessionUpdate === kind
        ? [update as Extract<SessionUpdate, { sessionUpdate: K }>]
        : [],
    );
  }

  /** What one side said in the conversation. */
  said(session: string, who: 'agent_message_chunk' | 'user_message_chunk' = 'agent_message_chunk'): string {
    return this.of(session, who)
      .map(({ content }) => (content.type === 'text' ? content.text : ''))
      .join('');
  }

  untilSaid(session: string, words: string): Promise<unknown> {
    return until(`the agent says ${words}`, () => this.said(session).includes(words));
  }

  untilAsked(words: string): Promise<Asked> {
    return until(`it asks ${words}`, () =>
      this.asked.find(({ request }) => request.toolCall.title?.includes(words)),
    );
  }

  /** Ends as an editor that crashes does. */
  async kill(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.stdin!.end();
    await exit;
  }
}
