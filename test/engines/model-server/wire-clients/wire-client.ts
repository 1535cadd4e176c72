/** The least a client of a format does: asks, reads a whole or a streamed answer, and says what was in it. */
export interface WireClient {
  path(stream: boolean): string;
  body(prompt: string, stream: boolean): object;
  whole(answer: unknown): Heard;
  streamed(events: unknown[]): Heard;
}

export interface Heard {
  text: string;
  call: { name: string; arguments: unknown } | null;
  input: number;
  output: number;
  cached: number;
}

export const SHELL = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
