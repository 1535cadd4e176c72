import { z } from 'zod';
import {
  ADDRESS_OR_NONE,
  ADDRESS_SAID,
  headers,
  money,
  names,
  text,
  upTo,
  whole,
} from './subagent-fields.ts';
import { SUBAGENT_MODEL_TYPES } from './subagent-names.ts';

const MODEL_TYPES_SAID = `must be one of ${SUBAGENT_MODEL_TYPES.join(', ')} (what speaks OpenAI's format is "openai" with its base_url)`;

/** What a file may ask of a model; the same words for one model and for all. */
export const GenerationParams = z.strictObject({
  temperature: z.number().min(0).max(2).optional().describe('0 to 2.'),
  topP: z.number().min(0).max(1).optional(),
  topK: whole.optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  maxGenerationTokens: whole.optional().describe('Tokens of one answer of the model.'),
  stopSequences: z.array(z.string()).optional(),
  thinkingBudget: z
    .union([z.string().min(1), whole], 'must be a number of tokens, or a word: minimal, low, medium, high')
    .optional()
    .describe('Tokens the model may think for, or a word: minimal, low, medium, high.'),
  n: z.number().int().optional().describe('Has no effect: one answer is asked for.'),
  toolChoice: text.optional().describe('Has no effect: the model chooses.'),
});
export type GenerationParams = z.output<typeof GenerationParams>;

export const CodeModeSettings = z.strictObject({
  enabled: z.boolean().default(false).describe('The model writes programs in which its tools are functions.'),
  maxTimeout: upTo(86_400).optional().describe('Seconds for one program; a day at most.'),
  largeOutputCharLimit: upTo(1_000_000)
    .optional()
    .describe('Characters of its output that the model is shown.'),
  excludedTools: names.optional().describe('Tools that stay ordinary tools, by their names at their server.'),
  localModulePaths: z.array(text).optional().describe('Has no effect: programs have their tools only.'),
});
export type CodeModeSettings = z.output<typeof CodeModeSettings>;

export const SubagentModel = z.strictObject({
  ref: z.string().min(1).describe('What the rest of the file calls it.'),
  display_name: text.optional().describe('For people.'),
  id: z.string().min(1).describe('What its provider calls it.'),
  type: z
    .enum(SUBAGENT_MODEL_TYPES, MODEL_TYPES_SAID)
    .describe(
      'Whose format it speaks. openai: chat completions, also of compatible servers; responses: the newer one.',
    ),
  base_url: text
    .regex(ADDRESS_OR_NONE, ADDRESS_SAID)
    .optional()
    .describe("Instead of the provider's own address: http or https."),
  api_key_env: text
    .optional()
    .meta({ pattern: '^([A-Za-z_][A-Za-z0-9_]*)?$' })
    .describe('The variable that holds the key. The key itself is never in the file.'),
  auth_method: text.optional().describe('apikey is the one that works.'),
  context_window: whole.optional().describe('Tokens; for people.'),
  max_output: whole.optional().describe('Tokens of one answer, unless maxGenerationTokens says fewer.'),
  input_cost_per_million: money.optional().describe('USD.'),
  output_cost_per_million: money.optional().describe('USD.'),
  cache_read_cost_per_million: money.optional().describe('USD.'),
  cache_write_cost_per_million: money.optional().describe('USD.'),
  patchRequest: z
    .strictObject({
      includeHeaders: headers.optional().describe('Sent with every request to the model.'),
      jsonPatch: z.array(z.unknown()).optional().describe('Has no effect: requests go out unchanged.'),
    })
    .optional(),
  generationParams: GenerationParams.optional().describe('For this model, before those of defaults.'),
  generationDefaults: GenerationParams.optional().describe('Another name for generationParams.'),
  systemPromptPath: text.optional().describe('For this model, instead of that of defaults.'),
  codeMode: CodeModeSettings.optional().describe('For this model, instead of that of defaults.'),
  thinkingValues: z.array(z.unknown()).optional().describe('For menus of other programs.'),
  timeout: text.optional().describe('Has no effect here: it belongs into defaults.'),
  mcpServers: z.record(z.string(), z.unknown()).optional().describe('Has no effect here: see mcpServers.'),
  compaction: z.unknown().optional().describe('Has no effect: a conversation is never shortened.'),
});
export type SubagentModel = z.output<typeof SubagentModel>;
