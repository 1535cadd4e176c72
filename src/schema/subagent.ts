import { z } from 'zod';
import { OwnServers } from './mcp-config.ts';
import { CodeMode, ModelSpec } from './model-spec.ts';
import { JsonSchema } from './run.ts';
import { SUBAGENT_MODEL_TYPES, TOOL_NAME } from './subagent-names.ts';

/** A subagent as defined by its file, with all referenced files read. Served as an MCP server with one tool. */
export const Subagent = z.object({
  /** Absolute path of the subagent file. */
  file: z.string(),
  name: z.string(),
  description: z.string(),
  outputSchema: JsonSchema.nullable(),
  model: ModelSpec,
  systemPrompt: z.string().nullable(),
  codeMode: CodeMode.nullable(),
  /** Servers that only this subagent uses. Null if it has none. */
  servers: OwnServers.nullable(),
  /** Timeout of one call. Null means the default of runs. */
  timeoutMs: z.number().int().positive().nullable(),
  /** Maximum model turns in one call. */
  maxTurns: z.number().int().positive(),
});
export type Subagent = z.infer<typeof Subagent>;

/** A problem in a subagent file. Lines and columns start at 1. */
export interface ConfigFinding {
  severity: 'error' | 'warning';
  /** Place in the file, for example `subagent.name`; '' for the whole file. */
  path: string;
  line: number | null;
  column: number | null;
  message: string;
}

/** A value that starts with `${VAR}` cannot be checked until run time. */
const ADDRESS = /^(https?:\/\/|\$).+$/;
const ADDRESS_OR_NONE = /^((https?:\/\/|\$).+)?$/;
const ADDRESS_ERROR = 'is not an http or https URL';
/** Header names that are valid in HTTP. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const text = z.string();
/** Text that YAML may parse as another type: `PORT: 8080` is a number in YAML. */
const plain = z.union([z.string(), z.number(), z.boolean()], 'must be text').transform(String);
const upTo = (most: number) => z.number().int().min(1).max(most);
/** The maximum is higher than any model supports, and low enough to catch typing errors. */
const whole = upTo(10_000_000);
const money = z.number().min(0).max(100_000);
const names = z.array(z.string().min(1));
const headers = z.record(z.string().regex(HEADER_NAME, 'is not a name that a header can have'), plain);

const MODEL_TYPES_ERROR = `must be one of ${SUBAGENT_MODEL_TYPES.join(', ')} (for a server that is compatible with OpenAI: "openai" with its base_url)`;

/** Parameters for text generation, the same for one model and as defaults for all models. */
export const GenerationParams = z.strictObject({
  temperature: z.number().min(0).max(2).optional().describe('Sampling temperature, from 0 to 2.'),
  topP: z.number().min(0).max(1).optional(),
  topK: whole.optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  maxGenerationTokens: whole.optional().describe('Maximum tokens of one answer of the model.'),
  stopSequences: z.array(z.string()).optional(),
  thinkingBudget: z
    .union([z.string().min(1), whole], 'must be a number of tokens, or a level: minimal, low, medium, high')
    .optional()
    .describe('Reasoning budget in tokens, or a level: minimal, low, medium, high.'),
  n: z.number().int().optional().describe('Has no effect: there is always one answer.'),
  toolChoice: text.optional().describe('Has no effect: the model chooses.'),
});
export type GenerationParams = z.output<typeof GenerationParams>;

export const CodeModeSettings = z.strictObject({
  enabled: z.boolean().default(false).describe('The model writes programs in which its tools are functions.'),
  maxTimeout: upTo(86_400).optional().describe('Seconds that one program may run, at most a day.'),
  largeOutputCharLimit: upTo(1_000_000)
    .optional()
    .describe("Maximum number of characters of a program's output that the model gets."),
  excludedTools: names.optional().describe("Tools that stay ordinary tools, by the server's own names."),
  localModulePaths: z.array(text).optional().describe('Has no effect: programs have only their tools.'),
});
export type CodeModeSettings = z.output<typeof CodeModeSettings>;

export const SubagentModel = z.strictObject({
  ref: z.string().min(1).describe('Name of the model within this file.'),
  display_name: text.optional().describe('Name of the model that people see.'),
  id: z.string().min(1).describe('Name of the model at its provider.'),
  type: z
    .enum(SUBAGENT_MODEL_TYPES, MODEL_TYPES_ERROR)
    .describe(
      'API format. openai: chat completions, also of compatible servers. responses: the newer API of OpenAI.',
    ),
  base_url: text
    .regex(ADDRESS_OR_NONE, ADDRESS_ERROR)
    .optional()
    .describe("http or https address to use instead of the provider's own."),
  api_key_env: text
    .optional()
    .meta({ pattern: '^([A-Za-z_][A-Za-z0-9_]*)?$' })
    .describe('The variable that holds the key. The key itself is never in the file.'),
  auth_method: text.optional().describe('Only apikey is supported.'),
  context_window: whole.optional().describe('Context size in tokens. For information only.'),
  max_output: whole.optional().describe('Maximum tokens of one answer, unless maxGenerationTokens is lower.'),
  input_cost_per_million: money.optional().describe('US dollars per million input tokens.'),
  output_cost_per_million: money.optional().describe('US dollars per million output tokens.'),
  cache_read_cost_per_million: money
    .optional()
    .describe('US dollars per million tokens read from the cache.'),
  cache_write_cost_per_million: money
    .optional()
    .describe('US dollars per million tokens written to the cache.'),
  patchRequest: z
    .strictObject({
      includeHeaders: headers
        .optional()
        .describe('HTTP headers that are sent with every request to the model.'),
      jsonPatch: z.array(z.unknown()).optional().describe('Has no effect: requests are sent unchanged.'),
    })
    .optional(),
  generationParams: GenerationParams.optional().describe(
    'Generation options of this model. They override those in defaults.',
  ),
  generationDefaults: GenerationParams.optional().describe('Another name for generationParams.'),
  systemPromptPath: text
    .optional()
    .describe('System prompt file of this model, instead of the one in defaults.'),
  codeMode: CodeModeSettings.optional().describe(
    'Code mode of this model, instead of the setting in defaults.',
  ),
  thinkingValues: z
    .array(z.unknown())
    .optional()
    .describe('Has no effect: other programs use it for their menus.'),
  timeout: text.optional().describe('Has no effect here: set it in defaults.'),
  mcpServers: z.record(z.string(), z.unknown()).optional().describe('Has no effect here: see mcpServers.'),
  compaction: z.unknown().optional().describe('Has no effect: a conversation is never shortened.'),
});
export type SubagentModel = z.output<typeof SubagentModel>;

const VARIABLE_NAME = /^[^=\0]+$/;

const ServerFields = z.strictObject({
  type: z
    .enum(['stdio', 'http', 'sse', 'builtin'])
    .optional()
    .describe(
      'stdio: a program that Squad starts. http, sse: a running server. builtin: not supported by Squad.',
    ),
  command: z.string().min(1).optional().describe(`Program to start. \${NAME} is replaced by a variable.`),
  args: z.array(plain).optional().describe('Arguments of the program. No shell is used.'),
  env: z
    .record(z.string().regex(VARIABLE_NAME, 'is not a valid variable name'), plain)
    .optional()
    .describe('Environment variables of the program, in addition to those of the client.'),
  url: z.string().regex(ADDRESS, ADDRESS_ERROR).optional().describe('http or https address of the server.'),
  headers: headers.optional().describe('HTTP headers that are sent with every request.'),
  timeout: z
    .number()
    .positive()
    .optional()
    .meta({ minimum: 0.1, maximum: 1800, description: 'Timeout of one call in seconds: 0.1 to 1800.' }),
  enabledTools: names.optional().describe('Use only these tools.'),
  disabledTools: names.optional().describe('Use all tools except these.'),
  toolFilter: z
    .enum(['all', 'whitelist', 'blacklist'])
    .optional()
    .describe('With "all", neither list of tools has an effect.'),
});

/** Required keys are declared for editors only: the reader of the file has better error messages. */
export const SubagentServer = ServerFields.meta({
  anyOf: [
    { required: ['command'], properties: { type: { enum: ['stdio'] } } },
    { required: ['url'], properties: { type: { enum: ['http', 'sse'] } } },
    { required: ['type'], properties: { type: { enum: ['builtin'] } } },
  ],
});
export type SubagentServer = z.output<typeof SubagentServer>;

const VERSION_ERROR = 'is not a supported format version; use "1.0"';
/** A duration; seconds if there is no unit. An empty text means no timeout. */
const DURATION = /^((\d+(\.\d+)?(ms|s|m|h))+|\d+(\.\d+)?)?$/;
const DURATION_ERROR = 'must be a time of at most 24 days: 90s, 5m or 1h30m';
/** Longest delay of Node's timers. */
const MAX_SECONDS = 2_147_483;
const SERVER_NAME = /^(?!__proto__$).+/;

export const SubagentIdentity = z.strictObject({
  name: z
    .string()
    .regex(TOOL_NAME, 'cannot be the name of a tool: that is 1 to 64 letters, digits, _ and -')
    .describe('Name of the tool: 1 to 64 letters, digits, _ and -.'),
  description: z
    .string()
    .regex(/\S/, 'must not be empty')
    .describe('Purpose of the tool. Callers know nothing else about it.'),
  outputSchemaPath: text
    .optional()
    .describe("JSON Schema file for the tool's result, which must be an object."),
});
export type SubagentIdentity = z.output<typeof SubagentIdentity>;

const DefaultFields = z.strictObject({
  model: text.optional().meta({ minLength: 1, description: 'ref of the model to use.' }),
  systemPromptPath: text.optional().describe('Text file with the system prompt.'),
  timeout: z
    .union(
      [
        z.string().regex(DURATION, DURATION_ERROR),
        z.number().min(0.001, DURATION_ERROR).max(MAX_SECONDS, DURATION_ERROR),
      ],
      DURATION_ERROR,
    )
    .optional()
    .describe('Timeout of one call, like 90s, 5m or 1h30m.'),
  maxTurns: upTo(1000).optional().describe('Maximum model turns in one call: 1 to 1000 (default: 50).'),
  codeMode: CodeModeSettings.optional().describe('Whether the model writes programs, and their limits.'),
  generationParams: GenerationParams.optional().describe('Generation options of the model.'),
  noStream: z.boolean().optional().describe('Has no effect: answers are always streamed.'),
  compaction: z.unknown().optional().describe('Has no effect: a conversation is never shortened.'),
});

/** `model` is required only in the schema for editors. The reader of the file has a better error, which suggests a model. */
export const SubagentDefaults = DefaultFields.meta({ required: ['model'] });
export type SubagentDefaults = z.output<typeof SubagentDefaults>;

/** A subagent's file as written: one subagent, which is one tool. Paths are relative to the file. */
export const SubagentFile = z.strictObject({
  version: z
    .union([z.enum(['1.0', '1'], VERSION_ERROR), z.literal(1, VERSION_ERROR)], VERSION_ERROR)
    .optional()
    .describe('Format version; "1.0".'),
  models: z.array(SubagentModel).min(1).describe('Available models.'),
  subagent: SubagentIdentity,
  defaults: SubagentDefaults.describe('How the subagent runs.'),
  mcpServers: z
    .record(z.string().regex(SERVER_NAME), SubagentServer)
    .optional()
    .describe('MCP servers of the subagent. Each is started only for its runs.'),
});
