import type { ErrorShape } from '../schema/error.ts';

/** The errors of tools that only agents have: one level, with everything that belongs to them. */
export function flatError(
  { code, message, suggestions, details }: ErrorShape,
  tool: string,
  instance: string | undefined,
): Record<string, unknown> {
  return {
    ...details,
    ...{ error: code, code, message, tool_name: tool },
    ...(instance !== undefined && { instance_id: instance }),
    ...(suggestions && { suggestions }),
  };
}
