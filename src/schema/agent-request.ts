import { z } from 'zod';
import { CodeMode, ModelSpec } from './model-spec.ts';
import { JsonSchema } from './run.ts';

export const AGENT_REQUEST_FILE = 'agent-request.json';

/** What `squad agent` is told beside its prompt, which it reads from standard input: a file that only its user can read. */
export const AgentRequest = z.object({
  model: ModelSpec,
  systemPrompt: z.string().nullable(),
  /** Files that join the prompt: absolute, or from the working folder. */
  inputs: z.array(z.string()),
  /** The model ends with `final_answer`, which takes this; null: it ends with words. */
  outputSchema: JsonSchema.nullable(),
  codeMode: CodeMode.nullable(),
  maxTurns: z.number().int().positive(),
  /** What only its provider is to see, and is in nothing it prints. */
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Where its tools are; null: it has none. */
  endpoint: z.object({ url: z.string(), token: z.string() }).nullable(),
  /** Its servers and whoever would hear its answer are gone with the hub: when that cannot be reached, it ends. */
  endsWithHub: z.boolean(),
  /** The chat's messages so far, in the SDK's own form; added to after each model turn. Files of its prompts are kept beside it. */
  chatFile: z.string(),
  continues: z.boolean(),
});
export type AgentRequest = z.infer<typeof AgentRequest>;
