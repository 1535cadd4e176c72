import { z } from 'zod';
import { Subagent } from './subagent.ts';

/** Supported agent CLIs. If none was chosen, the first installed one in this order is used. */
export const CLI_IDS = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'cursor'] as const;
export const CliId = z.enum(CLI_IDS);
export type CliId = z.infer<typeof CliId>;

/** Alternative names of the CLIs, from their packages and vendors. */
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

/** Format of an engine's event lines: that of a CLI, Squad's own, or none (`text`: only the exit code counts). */
export const ParserKind = z.enum([...CLI_IDS, 'squad', 'text']);
export type ParserKind = z.infer<typeof ParserKind>;

export const AcpCommand = z.tuple([z.string()], z.string());

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
    /** Absolute path of the program. */
    program: z.string(),
    version: z.string().nullable(),
  }),
  z.object({ kind: z.literal('acp'), id: z.string(), command: AcpCommand }),
  z.object({ kind: z.literal('scripted') }),
  z.object({
    kind: z.literal('native'),
    /** Null for a run without a subagent, whose model is given as `provider/model`. */
    subagent: Subagent.nullable(),
    /** Input files for the prompt of the first turn. */
    inputs: z.array(z.string()).default([]),
  }),
]);
export type EngineSpec = z.infer<typeof EngineSpec>;

/** Facts about an agent CLI that do not depend on this machine. */
export interface CliFacts {
  cli: CliId;
  /** Name of the CLI as its vendor spells it. */
  name: string;
  /** Command or address with which the user can install the CLI. */
  install: string;
  login: string;
  /** Version with which Squad's tests tried the rules that the CLI enforces. Null if none was. */
  tested: string | null;
  /** Other names for Squad's tools, if the CLI does not allow the usual ones. */
  toolNames: ToolNames;
}

/** Maps an operation to the name by which an agent calls it. */
export type ToolNames = Readonly<Record<string, string>>;

/** An agent CLI that was found on this machine. */
export interface InstalledCli {
  cli: CliId;
  program: string;
  /** Null if the program did not report a version. */
  version: string | null;
  /** Why the CLI may not work as expected. Null if it should. */
  warning: string | null;
}
