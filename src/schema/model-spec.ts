import { z } from 'zod';

/**
 * Whose wire format a model speaks. `openai`: chat completions, of OpenAI or anybody compatible. `responses`: OpenAI's own
 * newer one.
 */
export const ModelType = z.enum(['anthropic', 'openai', 'responses', 'google']);
export type ModelType = z.infer<typeof ModelType>;

/** How a model is asked; what is left out is the provider's own choice. */
export const GenerationOptions = z.object({
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  presencePenalty: z.number().optional(),
  maxOutputTokens: z.number().int().positive().optional(),
  stopSequences: z.array(z.string()).optional(),
  /** Tokens a model may think for, or a word for how hard: `low`, `medium`, `high`. */
  thinking: z.union([z.number().int().positive(), z.string()]).optional(),
});
export type GenerationOptions = z.infer<typeof GenerationOptions>;

/** A model and where it is. The key itself is never here: only the variable that holds it. */
export const ModelSpec = z.object({
  type: ModelType,
  id: z.string(),
  /** Null: the provider's own address, or what its variable says. */
  baseUrl: z.string().nullable(),
  /** Null: none is sent, for servers that want none. */
  apiKeyEnv: z.string().nullable(),
  headers: z.record(z.string(), z.string()).default({}),
  generation: GenerationOptions.default({}),
  /** USD for a million tokens, where the configuration says it. */
  prices: z
    .object({
      input: z.number(),
      output: z.number(),
      cacheRead: z.number().nullable(),
      cacheWrite: z.number().nullable(),
    })
    .nullable()
    .default(null),
});
export type ModelSpec = z.infer<typeof ModelSpec>;

/** What bounds a program a model wrote. */
export const CodeModeLimits = z.object({
  timeoutMs: z.number().int().positive(),
  memoryMb: z.number().int().positive(),
  /** Of what it prints and returns, for the model. */
  outputChars: z.number().int().positive(),
});
export type CodeModeLimits = z.infer<typeof CodeModeLimits>;

export const CodeMode = CodeModeLimits.extend({
  /** Tools, by their exposed names, that stay ordinary tools beside it. */
  excludedTools: z.array(z.string()),
});
export type CodeMode = z.infer<typeof CodeMode>;
