import { type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { SquadError } from '../../schema/error.ts';
import { chatUuid } from '../chat-uuid.ts';
import { partOfArgument } from '../one-argument.ts';
import { refuseProjectCommands } from '../project-commands.ts';
import { claudeEffort } from './claude-effort.ts';
import { claudePermissions } from './claude-permissions.ts';
import { claudeProjectSettings } from './project-settings.ts';

/** The prompt comes on standard input; Squad's own server from a file, because arguments are there for everyone to read. */
export async function claudeCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, endpoint, model } = input;
  refuseProjectCommands(input.cwd, claudeProjectSettings(input.env), input.worktree);
  if (options.permission === 'full') refuseAsRoot(input.env);
  const argv: Command['argv'] = [program, '-p', '--output-format', 'stream-json', '--verbose'];
  argv.push(...claudePermissions(options, endpoint !== null));
  // Servers of the user's own stay out: what an agent can reach is Squad's decision.
  argv.push('--strict-mcp-config');
  if (endpoint) argv.push(`--mcp-config=${await input.files.write('mcp.json', mcpConfig(endpoint))}`);
  if (model !== null) argv.push(`--model=${partOfArgument('model', model)}`);
  if (options.effort !== null) argv.push(`--effort=${claudeEffort(options.effort)}`);
  if (options.budgetUsd !== null && options.stopAtBudget) argv.push(`--max-budget-usd=${options.budgetUsd}`);
  if (options.outputSchema)
    argv.push(`--json-schema=${partOfArgument('output schema', JSON.stringify(options.outputSchema))}`);
  if (input.chatId !== null)
    argv.push(input.continues ? '--resume' : '--session-id', chatUuid('Claude Code', input.chatId));
  // However short its user's patience with other servers is: a question is waited for, which never takes as long as its turn.
  const patience = options.approvals === 'ask' && { MCP_TOOL_TIMEOUT: String(input.timeoutMs) };
  return { argv, stdin: input.promptFile, env: { ...FEWER_RETRIES, ...input.env, ...QUIET, ...patience } };
}

/** Left alone it goes on asking a failing API for many minutes. */
const FEWER_RETRIES = { CLAUDE_CODE_MAX_RETRIES: '4' };

const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  // Otherwise the model has to search for Squad's tools before it can see them.
  ENABLE_TOOL_SEARCH: 'false',
};

const mcpConfig = ({ url, token }: RunEndpoint): string =>
  JSON.stringify({
    mcpServers: { [SQUAD_SERVER]: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } } },
  });

/** Claude Code would end with a line on stderr; whether this machine is a sandbox is for its user to say. */
function refuseAsRoot(env: Record<string, string>): void {
  if (process.getuid?.() !== 0 || env.IS_SANDBOX === '1') return;
  throw new SquadError('NOT_ALLOWED', 'Claude Code does not run with permission "full" as root.', {
    suggestions: [
      'Run Squad as another user, or ask for permission "edit".',
      'If this machine is a sandbox, set IS_SANDBOX=1 in the environment of the client.',
    ],
  });
}
