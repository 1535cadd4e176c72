import { z } from 'zod';
import { Subagent } from './subagent.ts';

/** Supported agent CLIs, in the order of preference when none was chosen. */
export const CLI_IDS = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'cursor'] as const;
export const CliId = z.enum(CLI_IDS);
export type CliId = z.infer<typeof CliId>;

/** Names of packages and names that vendors use. */
export const CLI_ALIASES: Readonly<Record<string, CliId>> = {
  'claude-code': 'claude',
  'claude-code-cli': 'claude',
  'codex-cli': 'codex',
  'openai-codex-cli': 'codex',
  'gemini-cli': 'gemini',
  'copilot-cli': 'copilot',
  'cursor-agent': 'cursor',
};

export const cliNamed = (name: string): CliId | null =>
  Object.hasOwn(CLI_ALIASES, name) ? CLI_ALIASES[name]! : (CliId.safeParse(name).data ?? null);

/** Format of an engine's event lines: that of a CLI, our own, or none (`text`: only the exit code counts). */
export const ParserKind = z.enum([...CLI_IDS, 'squad', 'text']);
export type ParserKind = z.infer<typeof ParserKind>;

/** Recreates the same engine after a restart. Stored with the run, so that later changes of the config do not affect it. */
export const EngineSpec = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('template'),
    /** `template`, or the name of a custom engine. */
    id: z.string(),
    runTemplate: z.string(),
    createChatTemplate: z.string().nullable(),
    engineCommand: z.string(),
    parser: ParserKind,
  }),
  z.object({
    kind: z.literal('cli'),
    cli: CliId,
    /** Absolute path. */
    program: z.string(),
    version: z.string().nullable(),
  }),
  z.object({ kind: z.literal('scripted') }),
  z.object({
    kind: z.literal('native'),
    /** Null for an ordinary run, whose model is given as `provider/model`. */
    subagent: Subagent.nullable(),
    /** Input files for the prompt of the first turn. */
    inputs: z.array(z.string()).default([]),
  }),
]);
export type EngineSpec = z.infer<typeof EngineSpec>;

/** Facts about an agent CLI that do not depend on this machine. */
export interface CliFacts {
  cli: CliId;
  /** Spelt as its vendor does. */
  name: string;
  /** Instructions for the user. */
  install: string;
  login: string;
  /** Other names for Squad's tools, if the CLI does not allow the usual ones. */
  toolNames: ToolNames;
}

/** Operation → the name an agent calls it by. */
export type ToolNames = Readonly<Record<string, string>>;

/** An agent CLI that was found on this machine. */
export interface InstalledCli {
  cli: CliId;
  program: string;
  /** Null if it did not report one. */
  version: string | null;
  /** Why it may not work as expected. */
  warning: string | null;
}
