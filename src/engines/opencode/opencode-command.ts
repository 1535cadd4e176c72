import { type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { stateEnvironment } from '../../core/runs/turn-sandbox.ts';
import { SquadError } from '../../schema/error.ts';
import { asksUser } from '../asks-user.ts';
import { forkedChat } from '../chat-uuid.ts';
import { oneArgument, partOfArgument } from '../one-argument.ts';
import { DATA_PATH_FILE, dataPath } from './opencode-log.ts';
import { opencodePermissions } from './opencode-permissions.ts';
import { usersServers } from './user-config.ts';

export async function opencodeCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, model, chatId, continues, env } = input;
  if (model !== null && !/^[^/\s]+\/\S+$/.test(model)) throw badModel(model);
  const forked = forkedChat(input);
  await input.files.write(DATA_PATH_FILE, dataPath(stateEnvironment(input)));
  const environment = { ...env, ...QUIET, OPENCODE_CONFIG_CONTENT: config(input) };
  // opencode's events omit the cause of some failures, but its log has it.
  const log = ['--log-level', 'INFO'];
  const isFed = asksUser(options);
  if (isFed && forked !== null) throw noFork();
  if (isFed) return { argv: [program, 'acp', ...log], stdin: null, isFed, env: environment };
  return {
    argv: [
      program,
      'run',
      ...log,
      ...['--format', 'json'],
      ...['--agent', AGENT],
      // Without a title, opencode asks the model for one in a second request.
      ...(continues && chatId !== null
        ? ['--session', oneArgument('chat id', chatId)]
        : ['--title', `Squad ${input.runId}`]),
      // The session comes after the title: the reader must not take the original chat for the chat of this run.
      ...(forked === null ? [] : ['--session', oneArgument('chat id', forked), '--fork']),
      ...(model === null ? [] : [`--model=${partOfArgument('model', model)}`]),
      ...(options.effort === null ? [] : [`--variant=${partOfArgument('effort', options.effort)}`]),
    ],
    stdin: input.promptFile,
    env: environment,
  };
}

const noFork = (): SquadError =>
  new SquadError('INVALID_INPUT', 'opencode cannot copy a chat while it asks for approvals', {
    suggestions: ['Continue the chat without --fork, or use a role without `approvals: ask`.'],
  });

/** Name of an agent that Squad defines. Its permissions override the user's configuration of other agents. */
const AGENT = 'squad';

const QUIET = {
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  // Project settings are disabled, because a configuration in the repository may run commands.
  OPENCODE_DISABLE_PROJECT_CONFIG: '1',
  OPENCODE_DISABLE_CLAUDE_CODE: '1',
};

/** The configuration is merged into the one in the user's environment, which may define a provider. */
function config({ env, options, endpoint, model }: TurnInput): string {
  const permission = opencodePermissions(options);
  const agent = { mode: 'primary', description: 'An agent of a squad', permission };
  // `opencode acp` has no flags for these.
  const isFed = asksUser(options);
  return JSON.stringify({
    ...usersContent(env.OPENCODE_CONFIG_CONTENT),
    autoupdate: false,
    share: 'disabled',
    permission,
    ...(isFed && { default_agent: AGENT }),
    agent: {
      [AGENT]: {
        ...agent,
        ...(isFed && model !== null && { model }),
        ...(isFed && options.effort !== null && { variant: options.effort }),
      },
    },
    mcp: {
      // The user's own MCP servers are excluded, because Squad decides what an agent can reach.
      ...Object.fromEntries(usersServers(env).map(name => [name, { enabled: false }])),
      ...(endpoint && { [SQUAD_SERVER]: server(endpoint) }),
    },
  });
}

/** A tool call may wait for another agent, and opencode's default timeout is one minute. */
const CALL_LIMIT_MS = 600_000;

const server = ({ url, token }: RunEndpoint) => ({
  type: 'remote',
  url,
  headers: { Authorization: `Bearer ${token}` },
  oauth: false,
  enabled: true,
  timeout: CALL_LIMIT_MS,
});

function usersContent(content: string | undefined): object {
  if (!content) return {};
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' && value !== null ? value : {};
  } catch (cause) {
    throw new SquadError('CONFIG_INVALID', 'OPENCODE_CONFIG_CONTENT is not valid JSON', {
      suggestions: ['Fix the value, or unset the variable in the environment of the client.'],
      cause,
    });
  }
}

const badModel = (model: string) =>
  new SquadError('INVALID_INPUT', `opencode names models provider/model, not "${model}"`, {
    suggestions: ['`opencode models` lists the models you can use.'],
  });
