import type { Engine, EngineReader, InteractiveInput, TurnInput } from '../core/ports/engine.ts';
import type { Command } from '../core/ports/turns.ts';
import type { CliId, ToolNames } from '../schema/engine-spec.ts';
import type { PolicyRule, RunOptions } from '../schema/run.ts';

/** Everything Squad knows about one agent CLI. A folder per CLI exports one of these. */
export interface CliProfile {
  id: CliId;
  /** As its makers write it. */
  name: string;
  /** What its program may be called, the usual name first. */
  programs: readonly [string, ...string[]];
  /** How a user gets it. */
  install: string;
  /** How a user logs in, or which variable holds the key: the next step after a failed login. */
  login: string;
  /** Older than `from` is refused; newer than `tested` gets a warning. Null: tried with no version. */
  versions: { from: string; tested: string } | null;
  /** The program to start for the one that was found: some launchers are not to be started themselves. */
  resolve?(program: string): string;
  loadsItself: readonly string[];
  /**
   * Variables by which it reaches its model and knows its user. Narrow: whatever fits is left in an agent's environment even
   * where it is there for another server.
   */
  variables: RegExp;
  /** Other names for Squad's tools, where this CLI does not let its agents use the usual ones. */
  toolNames?: ToolNames;
  takesSchema: boolean;
  usageIsReported: Engine['usageIsReported'];
  newChat: Engine['newChat'];
  command(input: TurnInput, cli: { program: string; version: string | null }): Promise<Command>;
  configuredModel?: Engine['configuredModel'];
  chatMark?: Engine['chatMark'];
  /** The arguments that open its interactive mode on a chat. */
  resume(chatId: string): string[];
  /** What else that needs: variables, and files where they say. */
  prepareResume?(input: InteractiveInput): Promise<Record<string, string>>;
  reader(): EngineReader;
  policy(options: RunOptions): PolicyRule[];
}

/** What every one of them may need to reach its model from here. */
const NETWORK = /^((https?|all|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;

/** The engine a CLI is, once its program has been found. */
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
    policy: options => profile.policy(options),
    loadsItself: profile.loadsItself,
    wantsEndpoint: true,
    needsVariable: name => NETWORK.test(name) || profile.variables.test(name),
    takesSchema: profile.takesSchema,
    usageIsReported: profile.usageIsReported,
  };
}
