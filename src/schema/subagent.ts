import { z } from 'zod';
import { OwnServers } from './mcp-config.ts';
import { CodeMode, ModelSpec } from './model-spec.ts';
import { JsonSchema } from './run.ts';

/** A subagent as its file defines it, everything it refers to read: what one MCP server with one tool is made of. */
export const Subagent = z.object({
  /** Absolute. */
  file: z.string(),
  name: z.string(),
  description: z.string(),
  outputSchema: JsonSchema.nullable(),
  model: ModelSpec,
  systemPrompt: z.string().nullable(),
  codeMode: CodeMode.nullable(),
  /** Its own servers, every one of them for it alone; null: none. */
  servers: OwnServers.nullable(),
  /** For one call; null: as any run. */
  timeoutMs: z.number().int().positive().nullable(),
  /** Times the model may be asked in one call. */
  maxTurns: z.number().int().positive(),
});
export type Subagent = z.infer<typeof Subagent>;

/** What is the matter with such a file, and where: lines and columns from 1. */
export interface ConfigFinding {
  severity: 'error' | 'warning';
  /** Where in it: `subagent.name`, or '' for the whole. */
  path: string;
  line: number | null;
  column: number | null;
  message: string;
}
