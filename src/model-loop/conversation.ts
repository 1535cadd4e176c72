import { appendFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AssistantModelMessage, ModelMessage, ToolModelMessage, UserContent } from 'ai';
import type { AgentRequest } from '../schema/agent-protocol.ts';
import type { TracePart, TraceRole } from '../schema/conversation.ts';
import { newMessageId } from '../schema/ids.ts';
import { AgentError } from './agent-error.ts';
import type { ChatFile, ChatFiles } from './chat-files.ts';
import type { ModelCall } from './model-turn.ts';
import type { Emit } from './output-lines.ts';
import { answerText, bytesIn, type ToolAnswer } from './tool.ts';

/** A line of a chat file: what one `save` added. */
interface ChatLine {
  /** Id of the newest message. */
  last: string | null;
  messages: ModelMessage[];
  /** Files whose marks are in the messages. */
  files: ChatFile[];
}

const HEAD = `${JSON.stringify({ version: 2 })}\n`;

/** Reads all complete lines. An incomplete last line is removed: the agent was killed while writing it. */
async function readChat(file: string): Promise<ChatLine> {
  try {
    const text = await readFile(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (!whole.startsWith(HEAD)) throw new Error('it has an unknown format');
    if (whole !== text) await truncate(file, Buffer.byteLength(whole));
    const lines: ChatLine[] = whole
      .slice(HEAD.length)
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line));
    return {
      last: lines.at(-1)?.last ?? null,
      messages: lines.flatMap(({ messages }) => messages),
      files: lines.flatMap(({ files }) => files),
    };
  } catch (thrown) {
    throw new AgentError(
      'ENGINE_FAILED',
      `Cannot continue the chat in ${file}: ${thrown instanceof Error ? thrown.message : String(thrown)}. Start a new chat.`,
    );
  }
}

/** The messages so far, in the SDK's format for the model. Every message is also written to the output. */
export class Conversation {
  readonly messages: ModelMessage[] = [];
  readonly #file: string;
  readonly #emit: Emit;
  /** Whether the model accepts images in tool results. */
  readonly #takesImages: boolean;
  #last: string | null = null;
  #saved = 0;
  #newFiles: ChatFile[] = [];

  private constructor(file: string, takesImages: boolean, emit: Emit) {
    this.#file = file;
    this.#takesImages = takesImages;
    this.#emit = emit;
  }

  static async open(
    { chatFile, continues }: Pick<AgentRequest, 'chatFile' | 'continues'>,
    kept: ChatFiles,
    takesImages: boolean,
    emit: Emit,
  ): Promise<Conversation> {
    const conversation = new Conversation(chatFile, takesImages, emit);
    if (!continues) return conversation;
    const { last, messages, files } = await readChat(chatFile);
    conversation.messages.push(...messages);
    conversation.#saved = messages.length;
    conversation.#last = last;
    kept.register(files);
    return conversation;
  }

  get isNew(): boolean {
    return this.messages.length === 0;
  }

  /** Reports the system prompt. It is sent with every model turn and is not part of the stored chat. */
  system(text: string): void {
    this.#trace('system', [{ type: 'text', text }]);
  }

  user(content: Exclude<UserContent, string>, shown: TracePart[], files: ChatFile[]): void {
    this.messages.push({ role: 'user', content });
    this.#newFiles.push(...files);
    this.#trace('user', shown);
  }

  assistant(message: AssistantModelMessage | null, calls: readonly ModelCall[]): void {
    if (message === null) return;
    this.messages.push(message);
    const said =
      typeof message.content === 'string'
        ? [{ type: 'text' as const, text: message.content }]
        : message.content;
    const parts = said.flatMap((part): TracePart[] => {
      if (part.type === 'text' || part.type === 'reasoning') return [{ type: part.type, text: part.text }];
      if (part.type !== 'tool-call') return [];
      // The SDK replaces arguments that it could not parse with an empty object. The text that the model wrote is
      // reported instead.
      const input = calls.find(({ id }) => id === part.toolCallId)?.input ?? part.input;
      return [{ type: 'tool_call', id: part.toolCallId, name: part.toolName, input }];
    });
    this.#trace('assistant', parts);
  }

  tools(answers: readonly { call: ModelCall; answer: ToolAnswer }[]): void {
    const content: ToolModelMessage['content'] = answers.map(({ call, answer }) => ({
      type: 'tool-result',
      toolCallId: call.id,
      toolName: call.name,
      output: modelOutput(answer, this.#takesImages),
    }));
    this.messages.push({ role: 'tool', content });
    this.#trace(
      'tool',
      answers.map(({ call: { id, name }, answer }) => ({
        type: 'tool_result',
        id,
        name,
        output: shownOutput(answer),
        isError: !answer.ok,
      })),
    );
  }

  /** Reports the calls of a program under the model's last message. They are not part of the chat. */
  program(parts: TracePart[]): void {
    this.#write('program', parts);
  }

  /** Call this only when every call has its answer, because otherwise the stored chat could not be continued. */
  async save(): Promise<void> {
    if (this.#saved === 0) {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      await writeFile(this.#file, HEAD, { mode: 0o600 });
    }
    const messages = this.messages.slice(this.#saved);
    const line: ChatLine = { last: this.#last, messages, files: this.#newFiles };
    await appendFile(this.#file, `${JSON.stringify(line)}\n`);
    this.#saved = this.messages.length;
    this.#newFiles = [];
  }

  #trace(role: TraceRole, content: TracePart[]): void {
    this.#last = this.#write(role, content);
  }

  #write(role: TraceRole, content: TracePart[]): string {
    const id = newMessageId();
    this.#emit({ type: 'message', message: { id, parentId: this.#last, role, content, at: Date.now() } });
    return id;
  }
}

type ToolOutput = Extract<ToolModelMessage['content'][number], { type: 'tool-result' }>['output'];

function modelOutput(answer: ToolAnswer, takesImages: boolean): ToolOutput {
  const text = answerText(answer) || '(nothing)';
  if (!answer.ok) return { type: 'error-text', value: text };
  if (!takesImages || answer.parts.every(({ type }) => type === 'text')) return { type: 'text', value: text };
  return {
    type: 'content',
    value: answer.parts.map(part =>
      part.type === 'text'
        ? part
        : { type: 'file', mediaType: part.mediaType, data: { type: 'data', data: part.data } },
    ),
  };
}

function shownOutput({ parts, structured }: ToolAnswer): unknown {
  if (structured !== undefined) return structured;
  if (parts.every(({ type }) => type === 'text')) return answerText({ ok: true, parts });
  return parts.map(part =>
    part.type === 'text'
      ? part
      : { type: 'file', name: 'image', mediaType: part.mediaType, bytes: bytesIn(part.data) },
  );
}
