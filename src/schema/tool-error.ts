import type { ErrorShape } from './error.ts';

/** An error as a tool answers it: with the tool's name and, if an agent called it, the agent's run. */
export function toolError(
  error: ErrorShape,
  tool: string,
  instance: string | undefined,
): Record<string, unknown> {
  return { error: { ...error, ...origin(tool, instance) } };
}

/** The same for tools that only agents have: one level, with everything that belongs to the error. */
export function flatError(
  { code, message, suggestions, details }: ErrorShape,
  tool: string,
  instance: string | undefined,
): Record<string, unknown> {
  return {
    ...details,
    ...{ error: code, code, message },
    ...origin(tool, instance),
    ...(suggestions && { suggestions }),
  };
}

const origin = (tool: string, instance: string | undefined) => ({
  tool_name: tool,
  ...(instance !== undefined && { instance_id: instance }),
});
