import { z } from 'zod';

/**
 * API format of a model. `openai`: chat completions, of OpenAI or compatible servers. `responses`: OpenAI's Responses
 * API.
 */
export const ModelType = z.enum(['anthropic', 'openai', 'responses', 'google']);
export type ModelType = z.infer<typeof ModelType>;

/** Options for generating text. A missing option means the provider's default. */
export const GenerationOptions = z.object({
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  presencePenalty: z.number().optional(),
  maxOutputTokens: z.number().int().positive().optional(),
  stopSequences: z.array(z.string()).optional(),
  /** Reasoning budget in tokens, or a level: `low`, `medium`, `high`. */
  thinking: z.union([z.number().int().positive(), z.string()]).optional(),
});
export type GenerationOptions = z.infer<typeof GenerationOptions>;

/** A model and its address. Never contains the key itself, only the name of the variable that does. */
export const ModelSpec = z.object({
  type: ModelType,
  id: z.string(),
  /** Address of the API. Null means the address in the provider's environment variable, or the provider's default. */
  baseUrl: z.string().nullable(),
  /** Variable that holds the API key. Null if no key is sent. */
  apiKeyEnv: z.string().nullable(),
  headers: z.record(z.string(), z.string()).default({}),
  generation: GenerationOptions.default({}),
  /** Prices in US dollars per million tokens. Null if not configured. */
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

/** Limits of a program that a model writes. */
export const CodeModeLimits = z.object({
  timeoutMs: z.number().int().positive(),
  memoryMb: z.number().int().positive(),
  /** Maximum number of characters of output and return value together. */
  outputChars: z.number().int().positive(),
});
export type CodeModeLimits = z.infer<typeof CodeModeLimits>;

export const CodeMode = CodeModeLimits.extend({
  /** Exposed names of tools that the model still calls directly. */
  excludedTools: z.array(z.string()),
});
export type CodeMode = z.infer<typeof CodeMode>;
