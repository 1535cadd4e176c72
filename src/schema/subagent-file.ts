import { z } from 'zod';
import { text, upTo } from './subagent-fields.ts';
import { CodeModeSettings, GenerationParams, SubagentModel } from './subagent-model.ts';
import { TOOL_NAME } from './subagent-names.ts';
import { SubagentServer } from './subagent-server.ts';

const VERSION_SAID = 'is not a version of the format that Squad knows: that is "1.0"';
/** Without a unit it is seconds; nothing at all is none. */
const DURATION = /^((\d+(\.\d+)?(ms|s|m|h))+|\d+(\.\d+)?)?$/;
const DURATION_SAID = 'must be a time of at most 24 days: 90s, 5m or 1h30m';
/** Timers cannot be set further ahead. */
const LONGEST_SECONDS = 2_147_483;
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
        z.number().min(0.001, DURATION_SAID).max(LONGEST_SECONDS, DURATION_SAID),
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
