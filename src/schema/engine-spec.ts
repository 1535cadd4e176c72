import { z } from 'zod';
import { Subagent } from './subagent.ts';

/** The agent CLIs with a folder of their own, in the order they are looked for when none was chosen. */
export const CLI_IDS = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'cursor'] as const;
export const CliId = z.enum(CLI_IDS);
export type CliId = z.infer<typeof CliId>;

/** Other names of these CLIs: those of their packages, and those their vendors use. */
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

/** Whose event lines an engine prints: one of the CLIs', our own, or none (`text`: the exit code is all there is). */
export const ParserKind = z.enum([...CLI_IDS, 'squad', 'text']);
export type ParserKind = z.infer<typeof ParserKind>;

/** What is needed to build the same engine again after a restart. Kept with the run, so that a later change of config cannot change it. */
export const EngineSpec = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('template'),
    /** `template`, or the name of the user's own engine. */
    id: z.string(),
    runTemplate: z.string(),
    createChatTemplate: z.string().nullable(),
    engineCommand: z.string(),
    parser: ParserKind,
  }),
  z.object({
    kind: z.literal('cli'),
    cli: CliId,
    /** Absolute. */
    program: z.string(),
    version: z.string().nullable(),
  }),
  z.object({ kind: z.literal('scripted') }),
  z.object({
    kind: z.literal('native'),
    /** The subagent it is a call of; null: an ordinary run, whose model is asked for as `provider/model`. */
    subagent: Subagent.nullable(),
    /** Files that join the prompt of its first turn. */
    inputs: z.array(z.string()).default([]),
  }),
]);
export type EngineSpec = z.infer<typeof EngineSpec>;

/** What is known of an agent CLI before anybody has looked for it. */
export interface CliFacts {
  cli: CliId;
  /** As its makers write it. */
  name: string;
  /** How a user gets it, and how they log in. */
  install: string;
  login: string;
  /** Other names for Squad's tools, where the CLI does not let its agents use the usual ones. */
  toolNames: ToolNames;
}

/** Operation → the name an agent calls it by. */
export type ToolNames = Readonly<Record<string, string>>;

/** An agent CLI that was found on this machine. */
export interface InstalledCli {
  cli: CliId;
  program: string;
  /** Null when it would not say. */
  version: string | null;
  /** Why it may not work as expected. */
  warning: string | null;
}
