import type {
  ChatAdoption,
  Engine,
  EngineReader,
  Engines,
  InteractiveInput,
  SandboxNeeds,
  TurnInput,
} from '../core/ports/engine.ts';
import type { Command } from '../core/ports/turns.ts';
import { programFolders } from '../process/programs/program-folders.ts';
import type { CliId, ToolNames } from '../schema/engine-spec.ts';
import type { PolicyRule, RunOptions } from '../schema/run.ts';
import type { ChatReader } from './saved-chats/chat-files.ts';

/** All knowledge about one agent CLI. Each CLI's folder exports one profile. */
export interface CliProfile {
  id: CliId;
  /** Name of the CLI as its vendor spells it. */
  name: string;
  /** Possible names of the CLI's program, the most common first. */
  programs: readonly [string, ...string[]];
  install: string;
  /** How to log in, or which variable holds the key. Suggested after a failed login. */
  login: string;
  /**
   * Supported versions of the CLI. Versions older than `from` are refused, versions newer than `tested` get a
   * warning. Null means that no version was tested.
   */
  versions: { from: string; tested: string } | null;
  /** Returns the program to start instead of the one that was found, because some launchers do not work for Squad. */
  resolve?(program: string): string;
  loadsItself: readonly string[];
  /**
   * Variables that the CLI needs for its model and login. Keep the pattern narrow: matching variables stay in the
   * agent's environment even if they are secrets of an MCP server.
   */
  variables: RegExp;
  /** Other names for Squad's tools, if the CLI does not allow the usual ones. */
  toolNames?: ToolNames;
  takesSchema: boolean;
  usageIsReported: Engine['usageIsReported'];
  newChat: Engine['newChat'];
  command(input: TurnInput, cli: { program: string; version: string | null }): Promise<Command>;
  configuredModel?: Engine['configuredModel'];
  chatMark?: Engine['chatMark'];
  /** Reader of the CLI's own chat files. Null if Squad does not know them. */
  savedChats: ChatReader | null;
  adoption: ChatAdoption;
  copyChat?: Engines['copyChat'];
  /** Command-line arguments that open a chat interactively. */
  resume(chatId: string): string[];
  /** Prepares files for an interactive chat and returns the environment variables that it needs. */
  prepareResume?(input: InteractiveInput): Promise<Record<string, string>>;
  /** Files and hosts that the CLI needs in a sandbox. Squad finds the folders of its program itself. */
  sandbox(input: Parameters<Engine['sandbox']>[0]): Partial<SandboxNeeds>;
  reader(): EngineReader;
  /** Driver of a CLI that can read lines while it works. `command` decides whether a turn uses it. */
  driver?: Engine['driver'];
  policy(options: RunOptions): PolicyRule[];
}

/** Network variables that every CLI may need. */
const NETWORK = /^((https?|all|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;

export function createCliEngine(
  profile: CliProfile,
  cli: { program: string; version: string | null },
): Engine {
  return {
    id: profile.id,
    command: input => profile.command(input, cli),
    newChat: profile.newChat,
    configuredModel: profile.configuredModel,
    chatMark: profile.chatMark,
    interactive: async input => ({
      argv: [cli.program, ...profile.resume(input.chatId)],
      env: (await profile.prepareResume?.(input)) ?? {},
    }),
    reader: () => profile.reader(),
    driver: profile.driver,
    policy: options => profile.policy(options),
    loadsItself: profile.loadsItself,
    wantsEndpoint: true,
    needsVariable: name => NETWORK.test(name) || profile.variables.test(name),
    takesSchema: profile.takesSchema,
    usageIsReported: profile.usageIsReported,
    sandbox: input => ({
      ...{ login: [], drops: [], writes: [], hosts: [] },
      ...profile.sandbox(input),
      programs: programFolders(cli.program, input.env),
    }),
    sandboxLimit: profile.versions
      ? null
      : { kind: 'on_request', reason: `${profile.name} was never run in a sandbox by Squad's own tests` },
  };
}
