import { z } from 'zod';
import { asSquadError, SquadError } from '../schema/error.ts';
import type { Call, Operation } from './operation.ts';

/** The one way any face runs an operation: input checked, bugs kept apart from refusals, tool calls written down. */
export async function dispatch(operation: Operation, input: unknown, call: Call): Promise<unknown> {
  const { store, clock } = call.services;
  const startedAt = clock.now();
  let code: string | null = null;
  try {
    return await operation.run(call, parse(operation.input, input));
  } catch (thrown) {
    const error = asSquadError(thrown);
    code = error.code;
    throw error;
  } finally {
    if (operation.tool)
      await store
        .commit({
          events: [
            {
              at: clock.now(),
              runId: call.caller.parent?.id ?? null,
              squadId: null,
              body: {
                type: 'tool.called',
                tool: operation.name,
                client: call.caller.client,
                ok: code === null,
                code,
                durationMs: clock.now() - startedAt,
              },
            },
          ],
        })
        .catch(() => {}); // the store reports its own trouble; the answer must not hang on the log of it
  }
}

function parse(schema: z.ZodType, input: unknown): unknown {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw new SquadError(
    'INVALID_INPUT',
    z.prettifyError(parsed.error).replaceAll('\n  ', ' ').replaceAll('✖ ', ''),
    {
      suggestions: ['Compare with the input schema of the tool. Nothing was started.'],
    },
  );
}
