import type { AgentLine } from '../schema/agent-line.ts';

type Body = AgentLine extends infer Line ? (Line extends { at: number } ? Omit<Line, 'at'> : never) : never;

/** Says one event. Nothing else is ever on standard output. */
export type Say = (body: Body) => void;

export const sayOn =
  (output: { write(text: string): unknown }): Say =>
  body =>
    void output.write(`${JSON.stringify({ at: Date.now(), ...body })}\n`);
