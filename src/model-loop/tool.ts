import type { TracePart } from '../schema/conversation.ts';
import type { Emit } from './output-lines.ts';

/** Part of a tool's answer. Image data is base64. */
export type AnswerPart = { type: 'text'; text: string } | { type: 'image'; mediaType: string; data: string };

export interface ToolAnswer {
  ok: boolean;
  parts: AnswerPart[];
  /** `structuredContent` of the tool's result. */
  structured?: unknown;
}

export interface OfferedTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
}

/** The model's call, and how a tool reports on it while it runs. */
export interface CallReporter {
  id: string;
  emit: Emit;
  /** Records calls that a program made, under the message with the call that runs the program. */
  trace(parts: TracePart[]): void;
}

/** A tool whose failures are answers too: `call` throws only when it is aborted. */
export interface Tool extends OfferedTool {
  call(args: Record<string, unknown>, signal: AbortSignal, reporter: CallReporter): Promise<ToolAnswer>;
}

/** A tool that reports nothing while it runs. */
export interface PlainTool extends OfferedTool {
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
}

export const textAnswer = (ok: boolean, text: string): ToolAnswer => ({
  ok,
  parts: [{ type: 'text', text }],
});

/** Text of a tool's answer. Images are replaced by a short note. */
export const answerText = ({ parts }: ToolAnswer): string =>
  parts.map(part => (part.type === 'text' ? part.text : imageNote(part))).join('\n');

const imageNote = ({ mediaType, data }: Extract<AnswerPart, { type: 'image' }>): string =>
  `[an image, ${mediaType}, ${bytesIn(data)} bytes]`;

export const bytesIn = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
