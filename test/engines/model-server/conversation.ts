/** A model request in a form that all API formats share, and the answer to it. */
export interface Conversation {
  model: string;
  stream: boolean;
  system: string;
  turns: Turn[];
  tools: OfferedTool[];
}

export interface Turn {
  by: 'user' | 'model' | 'tool';
  text: string;
}

export interface OfferedTool {
  name: string;
  /** Codex groups MCP tools: the group's name travels beside the tool's. */
  namespace?: string;
  /** Takes one text instead of named arguments. */
  takesText?: boolean;
  parameters: ToolParameters;
}

export interface ToolParameters {
  properties?: Record<string, { type?: string | string[]; enum?: unknown[] }>;
  required?: string[];
}

export interface ToolCall {
  tool: OfferedTool;
  arguments: Record<string, unknown>;
  /** Sent instead of them, as it is: no JSON, perhaps. */
  malformed?: string;
}

export interface MadeCall extends ToolCall {
  /** Unique, for the ids a format wants. */
  id: string;
}

/** The arguments as a model writes them. */
export const argumentsText = ({ arguments: args, malformed }: ToolCall): string =>
  malformed ?? JSON.stringify(args);

/** `input` counts everything that was read, the cached part included; formats that count otherwise convert. */
export interface Usage {
  input: number;
  output: number;
  cached: number;
}

export interface Answer {
  /** Thinking before the answer, for formats that show it; signed where a format requires the client to return it. */
  thinking: string;
  text: string;
  calls: MadeCall[];
  /** Why it ended early; null: it is whole. */
  stop: 'full' | 'filtered' | 'refused' | null;
  usage: Usage;
  /** Unique per answer, for the ids a format wants. */
  id: string;
}

/** One way of speaking to a model: reads its requests, writes its answers. */
export interface WireFormat {
  name: 'anthropic' | 'responses' | 'chat' | 'gemini';
  /** Whether a POST to this path speaks it. */
  matches(path: string): boolean;
  read(body: unknown, url: URL): Conversation;
  whole(answer: Answer, conversation: Conversation): unknown;
  /** The answer as server-sent events, in order. */
  events(answer: Answer, conversation: Conversation): string[];
  error(status: number, message: string, retryAfter?: number): unknown;
}

/** Proves that a thought is the model's own. */
export const SIGNATURE = 'c2lnbmVkIGJ5IHRoZSBtb2RlbA==';

export const sse = (data: unknown, event?: string) =>
  `${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

const PIECE = 16 * 1024;

/** A text as a model streams it: in several pieces, however short. */
export function pieces(text: string): string[] {
  const characters = [...text];
  const size = Math.min(PIECE, Math.ceil(characters.length / 2));
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += size) parts.push(characters.slice(at, at + size).join(''));
  return parts;
}
