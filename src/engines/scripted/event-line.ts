import { z } from 'zod';
import type { EngineEvent } from '../../core/ports/engine.ts';

/** Negative figures count as unknown. */
const amount = z
  .number()
  .nullable()
  .transform(figure => (figure === null || figure < 0 ? null : figure));

/** Line format of the scripted agent: one JSON event per line, `at` in milliseconds. */
export const EventLine = z.discriminatedUnion('type', [
  z.object({ at: z.number(), type: z.literal('start'), scripted: z.literal(true) }),
  z.object({ at: z.number(), type: z.literal('text'), text: z.string() }),
  z.object({
    at: z.number(),
    type: z.literal('tool'),
    name: z.string(),
    detail: z.string(),
    edits: z.boolean().optional(),
  }),
  z.object({
    at: z.number(),
    type: z.literal('usage'),
    input: amount,
    output: amount,
    cached: amount,
    costUsd: amount,
  }),
  z.object({
    at: z.number(),
    type: z.literal('end'),
    ok: z.boolean(),
    answer: z.string(),
    error: z.string().nullable(),
    code: z.literal('ENGINE_RATE_LIMITED').optional(),
  }),
]);
export type EventLine = z.infer<typeof EventLine>;

/** Parses a line. A line that is not an event is plain output and yields no events. */
export function parseEventLine(line: string): EngineEvent[] {
  if (!line.startsWith('{')) return [];
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return [];
  }
  // Fast path: most lines are text, and validating them with the schema takes as long as parsing them.
  const { at, type, text } = json as Partial<Record<string, unknown>>;
  if (type === 'text' && typeof text === 'string' && Number.isFinite(at)) {
    const said = { at, type, text } as const;
    return [said];
  }
  const parsed = EventLine.safeParse(json);
  if (!parsed.success || parsed.data.type === 'start') return [];
  if (parsed.data.type === 'usage') {
    const { input, output, cached, costUsd } = parsed.data;
    return [{ type: 'usage', usage: { input, output, cached, costUsd, costIsEstimated: false } }];
  }
  return [parsed.data];
}
