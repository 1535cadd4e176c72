import type { TracePart } from '../schema/conversation.ts';
import type { Say } from './output-lines.ts';

/** A piece of what a tool gave back; images in base64. */
export type AnswerPart = { type: 'text'; text: string } | { type: 'image'; mediaType: string; data: string };

export interface ToolAnswer {
  ok: boolean;
  parts: AnswerPart[];
  /** The same as a value, from tools that say it so. */
  structured?: unknown;
}

export interface OfferedTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
}

/** The call of the model's that a tool is called for, and ways to tell what comes of it meanwhile. */
export interface CallTelling {
  id: string;
  say: Say;
  /** Writes down what a program called, below the message that the call is in. */
  trace(parts: TracePart[]): void;
}

/** What goes wrong in a tool is an answer; it throws only when it is aborted. */
export interface Tool extends OfferedTool {
  call(args: Record<string, unknown>, signal: AbortSignal, telling: CallTelling): Promise<ToolAnswer>;
}

/** One that has nothing to tell but its answer. */
export interface PlainTool extends OfferedTool {
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
}

export const saying = (ok: boolean, text: string): ToolAnswer => ({ ok, parts: [{ type: 'text', text }] });

/** What it says in words; an image is named. */
export const answerText = ({ parts }: ToolAnswer): string =>
  parts.map(part => (part.type === 'text' ? part.text : imageNote(part))).join('\n');

const imageNote = ({ mediaType, data }: Extract<AnswerPart, { type: 'image' }>): string =>
  `[an image, ${mediaType}, ${bytesIn(data)} bytes]`;

export const bytesIn = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
