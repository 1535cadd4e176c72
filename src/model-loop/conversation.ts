import { appendFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AssistantModelMessage, ModelMessage, ToolModelMessage, UserContent } from 'ai';
import type { AgentRequest } from '../schema/agent-protocol.ts';
import type { TracePart, TraceRole } from '../schema/conversation.ts';
import { newMessageId } from '../schema/ids.ts';
import { Ending } from './ending.ts';
import type { KeptFile, KeptFiles } from './kept-files.ts';
import type { ModelCall } from './model-turn.ts';
import type { Say } from './output-lines.ts';
import { answerText, bytesIn, type ToolAnswer } from './tool.ts';

/** What is added to a chat at once: a line of its file. */
interface ChatLine {
  /** Id of the newest message. */
  last: string | null;
  messages: ModelMessage[];
  /** Those that the messages have marks of. */
  files: KeptFile[];
}

const HEAD = `${JSON.stringify({ version: 2 })}\n`;

/** All lines that are whole. One that is not was being written when its agent was ended: it goes, and is not missed. */
async function readChat(file: string): Promise<ChatLine> {
  try {
    const text = await readFile(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (!whole.startsWith(HEAD)) throw new Error('it is of another form');
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
    throw new Ending(
      'ENGINE_FAILED',
      `The chat in ${file} cannot be gone on with: ${thrown instanceof Error ? thrown.message : String(thrown)}. Begin a new one.`,
    );
  }
}

/** For its user only. */
async function beginChat(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, HEAD, { mode: 0o600 });
}

const addToChat = (file: string, line: ChatLine): Promise<void> =>
  appendFile(file, `${JSON.stringify(line)}\n`);

/** What was said so far: for the model in the SDK's form, for everybody else line by line. */
export class Conversation {
  readonly messages: ModelMessage[] = [];
  readonly #file: string;
  readonly #say: Say;
  /** Whether the model can be shown an image that a tool gave back. */
  readonly #takesImages: boolean;
  #last: string | null = null;
  #saved = 0;
  #newFiles: KeptFile[] = [];

  private constructor(file: string, takesImages: boolean, say: Say) {
    this.#file = file;
    this.#takesImages = takesImages;
    this.#say = say;
  }

  static async open(
    { chatFile, continues }: Pick<AgentRequest, 'chatFile' | 'continues'>,
    kept: KeptFiles,
    takesImages: boolean,
    say: Say,
  ): Promise<Conversation> {
    const conversation = new Conversation(chatFile, takesImages, say);
    if (!continues) return conversation;
    const { last, messages, files } = await readChat(chatFile);
    conversation.messages.push(...messages);
    conversation.#saved = messages.length;
    conversation.#last = last;
    kept.know(files);
    return conversation;
  }

  get isNew(): boolean {
    return this.messages.length === 0;
  }

  /** It is sent anew with every model turn, and so is no part of the chat. */
  system(text: string): void {
    this.#trace('system', [{ type: 'text', text }]);
  }

  user(content: Exclude<UserContent, string>, shown: TracePart[], files: KeptFile[]): void {
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
      // The SDK puts an empty object in place of what could not be read; here it stands as the model wrote it.
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

  /** What a program called, below what the model said last. It is no part of the chat. */
  program(parts: TracePart[]): void {
    this.#write('program', parts);
  }

  /** Only where every call has its answer: what is on disk can always be gone on with. */
  async save(): Promise<void> {
    if (this.#saved === 0) await beginChat(this.#file);
    await addToChat(this.#file, {
      last: this.#last,
      messages: this.messages.slice(this.#saved),
      files: this.#newFiles,
    });
    this.#saved = this.messages.length;
    this.#newFiles = [];
  }

  #trace(role: TraceRole, content: TracePart[]): void {
    this.#last = this.#write(role, content);
  }

  #write(role: TraceRole, content: TracePart[]): string {
    const id = newMessageId();
    this.#say({ type: 'message', message: { id, parentId: this.#last, role, content, at: Date.now() } });
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
