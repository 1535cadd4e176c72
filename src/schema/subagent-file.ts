import { z } from 'zod';

const text = z.string();
/** As YAML reads them: `PORT: 8080` is a number there and text for whoever gets it. */
const plain = z.union([z.string(), z.number(), z.boolean()], 'must be text').transform(String);
const whole = z.number().int().positive();
const money = z.number().min(0);
const names = z.array(z.string().min(1));

/** What a file may ask of a model; the same words for one model and for all. */
const GenerationParams = z.strictObject({
  temperature: z.number().min(0).max(2).optional().describe('0 to 2.'),
  topP: z.number().min(0).max(1).optional(),
  topK: whole.optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  maxGenerationTokens: whole.optional().describe('Tokens of one answer of the model.'),
  stopSequences: z.array(z.string()).optional(),
  thinkingBudget: z
    .union([z.string().min(1), whole], 'must be a number of tokens or a word')
    .optional()
    .describe('Tokens the model may think for, or a word: minimal, low, medium, high.'),
  n: z.number().int().optional().describe('Has no effect: one answer is asked for.'),
  toolChoice: text.optional().describe('Has no effect: the model chooses.'),
});
export type GenerationParams = z.output<typeof GenerationParams>;

const CodeModeSettings = z.strictObject({
  enabled: z.boolean().default(false).describe('The model writes programs in which its tools are functions.'),
  maxTimeout: whole.optional().describe('Seconds for one program.'),
  largeOutputCharLimit: whole.optional().describe('Characters of its output that the model is shown.'),
  excludedTools: names.optional().describe('Tools that stay ordinary tools, by their names at their server.'),
  localModulePaths: z.array(text).optional().describe('Has no effect: programs have their tools only.'),
});
export type CodeModeSettings = z.output<typeof CodeModeSettings>;

export const SubagentServer = z.strictObject({
  type: z
    .enum(['stdio', 'http', 'sse', 'builtin'])
    .optional()
    .describe('stdio: a program that is started. http, sse: one that runs. builtin: not there in Squad.'),
  command: z.string().min(1).optional().describe(`The program. \${NAME} stands for a variable.`),
  args: z.array(plain).optional().describe('Its arguments, as they are: no shell sees them.'),
  env: z.record(z.string(), plain).optional().describe('Its own variables, beside those of the client.'),
  url: z.string().min(1).optional(),
  headers: z.record(z.string(), plain).optional().describe('Sent with every request.'),
  timeout: z.number().positive().optional().describe('Seconds for one call.'),
  enabledTools: names.optional().describe('Only these of its tools.'),
  disabledTools: names.optional().describe('All of its tools but these.'),
  toolFilter: z
    .enum(['all', 'whitelist', 'blacklist'])
    .optional()
    .describe('all: both lists have no effect.'),
});
export type SubagentServer = z.output<typeof SubagentServer>;

export const SubagentModel = z.strictObject({
  ref: z.string().min(1).describe('What the rest of the file calls it.'),
  display_name: text.optional().describe('For people.'),
  id: z.string().min(1).describe('What its provider calls it.'),
  type: z
    .string()
    .min(1)
    .describe('anthropic, openai, responses, gemini, groq, cerebras, openrouter or zai.')
    .meta({
      examples: ['anthropic', 'openai', 'responses', 'gemini', 'groq', 'cerebras', 'openrouter', 'zai'],
    }),
  base_url: text.optional().describe("Instead of the provider's own address."),
  api_key_env: text
    .optional()
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
      includeHeaders: z
        .record(z.string(), plain)
        .optional()
        .describe('Sent with every request to the model.'),
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

export const SubagentIdentity = z.strictObject({
  name: z.string().describe('The name of the tool: 1 to 64 letters, digits, _ and -.'),
  description: z.string().describe('What the tool is for: all that whoever calls it knows of it.'),
  outputSchemaPath: text.optional().describe('A JSON Schema, of an object, for what the tool returns.'),
});

export const SubagentDefaults = z.strictObject({
  model: text.optional().describe('The ref of the model to use.'),
  systemPromptPath: text.optional().describe('A text file: what the model is told before its task.'),
  timeout: z
    .union([z.string(), z.number()], 'must be a time: 90s, 5m, 1h30m')
    .optional()
    .describe('For one call: 90s, 5m, 1h30m.'),
  maxTurns: whole.optional().describe('Times the model may be asked in one call; 50 unless it says so.'),
  codeMode: CodeModeSettings.optional(),
  generationParams: GenerationParams.optional(),
  noStream: z.boolean().optional().describe('Has no effect: answers are always streamed.'),
  compaction: z.unknown().optional().describe('Has no effect: a conversation is never shortened.'),
});
export type SubagentDefaults = z.output<typeof SubagentDefaults>;

/** A subagent's file as it is written: one subagent, which is one tool. Paths are relative to the file. */
export const SubagentFile = z.strictObject({
  version: z.union([z.string(), z.number()]).optional().describe('Of the format: "1.0".'),
  models: z.array(SubagentModel).min(1).describe('Models to choose from.'),
  subagent: SubagentIdentity,
  defaults: SubagentDefaults.describe('How it runs.'),
  mcpServers: z
    .record(z.string(), SubagentServer)
    .optional()
    .describe('Servers whose tools it has, each started for its runs alone.'),
});
