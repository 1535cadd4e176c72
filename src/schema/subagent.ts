import { z } from 'zod';
import { OwnServers } from './mcp-config.ts';
import { CodeMode, ModelSpec } from './model-spec.ts';
import { JsonSchema } from './run.ts';
import { SUBAGENT_MODEL_TYPES, TOOL_NAME } from './subagent-names.ts';

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

/** What begins with a variable can be any. */
const ADDRESS = /^(https?:\/\/|\$).+$/;
const ADDRESS_OR_NONE = /^((https?:\/\/|\$).+)?$/;
const ADDRESS_SAID = 'is not an http or https URL';
/** What HTTP takes. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const text = z.string();
/** As YAML reads them: `PORT: 8080` is a number there and text for whoever gets it. */
const plain = z.union([z.string(), z.number(), z.boolean()], 'must be text').transform(String);
const upTo = (most: number) => z.number().int().min(1).max(most);
/** More than any model takes, and far less than what a slip of the finger writes. */
const whole = upTo(10_000_000);
const money = z.number().min(0).max(100_000);
const names = z.array(z.string().min(1));
const headers = z.record(z.string().regex(HEADER_NAME, 'is not a name that a header can have'), plain);

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

const VARIABLE_NAME = /^[^=\0]+$/;

const ServerFields = z.strictObject({
  type: z
    .enum(['stdio', 'http', 'sse', 'builtin'])
    .optional()
    .describe('stdio: a program that is started. http, sse: one that runs. builtin: not there in Squad.'),
  command: z.string().min(1).optional().describe(`The program. \${NAME} stands for a variable.`),
  args: z.array(plain).optional().describe('Its arguments, as they are: no shell sees them.'),
  env: z
    .record(z.string().regex(VARIABLE_NAME, 'is not a name that a variable can have'), plain)
    .optional()
    .describe('Its own variables, beside those of the client.'),
  url: z.string().regex(ADDRESS, ADDRESS_SAID).optional().describe('Where it is: http or https.'),
  headers: headers.optional().describe('Sent with every request.'),
  timeout: z
    .number()
    .positive()
    .optional()
    .meta({ minimum: 0.1, maximum: 1800, description: 'Seconds for one call: 0.1 to 1800.' }),
  enabledTools: names.optional().describe('Only these of its tools.'),
  disabledTools: names.optional().describe('All of its tools but these.'),
  toolFilter: z
    .enum(['all', 'whitelist', 'blacklist'])
    .optional()
    .describe('all: both lists have no effect.'),
});

/** What of that it needs; for editors, since the reader says it in better words. */
export const SubagentServer = ServerFields.meta({
  anyOf: [
    { required: ['command'], properties: { type: { enum: ['stdio'] } } },
    { required: ['url'], properties: { type: { enum: ['http', 'sse'] } } },
    { required: ['type'], properties: { type: { enum: ['builtin'] } } },
  ],
});
export type SubagentServer = z.output<typeof SubagentServer>;

const VERSION_SAID = 'is not a version of the format that Squad knows: that is "1.0"';
/** Without a unit it is seconds; nothing at all is none. */
const DURATION = /^((\d+(\.\d+)?(ms|s|m|h))+|\d+(\.\d+)?)?$/;
const DURATION_SAID = 'must be a time of at most 24 days: 90s, 5m or 1h30m';
/** Timers cannot be set further ahead. */
const MAX_SECONDS = 2_147_483;
const SERVER_NAME = /^(?!__proto__$).+/;

export const SubagentIdentity = z.strictObject({
  name: z
    .string()
    .regex(TOOL_NAME, 'cannot be the name of a tool: that is 1 to 64 letters, digits, _ and -')
    .describe('The name of the tool: 1 to 64 letters, digits, _ and -.'),
  description: z
    .string()
    .regex(/\S/, 'must not be empty')
    .describe('What the tool is for: all that whoever calls it knows of it.'),
  outputSchemaPath: text.optional().describe('A JSON Schema, of an object, for what the tool returns.'),
});
export type SubagentIdentity = z.output<typeof SubagentIdentity>;

const DefaultFields = z.strictObject({
  model: text.optional().meta({ minLength: 1, description: 'The ref of the model to use.' }),
  systemPromptPath: text.optional().describe('A text file: what the model is told before its task.'),
  timeout: z
    .union(
      [
        z.string().regex(DURATION, DURATION_SAID),
        z.number().min(0.001, DURATION_SAID).max(MAX_SECONDS, DURATION_SAID),
      ],
      DURATION_SAID,
    )
    .optional()
    .describe('For one call: 90s, 5m, 1h30m.'),
  maxTurns: upTo(1000)
    .optional()
    .describe('Times the model may be asked in one call: 1 to 1000, 50 unless it says so.'),
  codeMode: CodeModeSettings.optional().describe('Whether it writes programs, and what bounds them.'),
  generationParams: GenerationParams.optional().describe('How the model is asked.'),
  noStream: z.boolean().optional().describe('Has no effect: answers are always streamed.'),
  compaction: z.unknown().optional().describe('Has no effect: a conversation is never shortened.'),
});

/** Only the reader knows which models there are, and says what to add. */
export const SubagentDefaults = DefaultFields.meta({ required: ['model'] });
export type SubagentDefaults = z.output<typeof SubagentDefaults>;

/** A subagent's file as it is written: one subagent, which is one tool. Paths are relative to the file. */
export const SubagentFile = z.strictObject({
  version: z
    .union([z.enum(['1.0', '1'], VERSION_SAID), z.literal(1, VERSION_SAID)], VERSION_SAID)
    .optional()
    .describe('Of the format; "1.0" is the one there is.'),
  models: z.array(SubagentModel).min(1).describe('Models to choose from.'),
  subagent: SubagentIdentity,
  defaults: SubagentDefaults.describe('How it runs.'),
  mcpServers: z
    .record(z.string().regex(SERVER_NAME), SubagentServer)
    .optional()
    .describe('Servers whose tools it has, each started for its runs alone.'),
});
