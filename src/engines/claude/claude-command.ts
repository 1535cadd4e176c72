import { join } from 'node:path';
import { type RunEndpoint, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { SquadError } from '../../schema/error.ts';
import { readsLines } from '../asks-user.ts';
import { chatUuid, forkedChat } from '../chat-uuid.ts';
import { fields, fieldsOf } from '../json-line.ts';
import { partOfArgument } from '../one-argument.ts';
import { type ProjectSettings, refuseProjectCommands } from '../project-commands.ts';
import { readText } from '../read-text.ts';
import { claudePermissions } from './claude-permissions.ts';

/**
 * The prompt is passed on standard input and the address of Squad's server in a file, because every user of the
 * machine can read arguments.
 */
export async function claudeCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, endpoint, model } = input;
  refuseProjectCommands(input.cwd, claudeProjectSettings(input.env), input.worktree);
  const isSandboxed = options.sandbox.level !== 'off';
  if (options.permission === 'full' && !isSandboxed) refuseAsRoot(input.env);
  // A Claude Code that only reads its prompt calls a tool of Squad's server to ask the user.
  const isFed = readsLines(options);
  const argv: Command['argv'] = [program, '-p', '--output-format', 'stream-json', '--verbose'];
  if (isFed) argv.push('--input-format', 'stream-json', '--replay-user-messages');
  argv.push(...claudePermissions(options, { hasSquad: endpoint !== null, isFed }));
  // The user's own MCP servers are excluded, because Squad decides what an agent can reach.
  argv.push('--strict-mcp-config');
  if (endpoint) argv.push(`--mcp-config=${await input.files.write('mcp.json', mcpConfig(endpoint))}`);
  // Claude Code's own sandbox cannot run inside Squad's, which restricts more.
  if (isSandboxed) argv.push('--settings={"sandbox":{"enabled":false}}');
  if (model !== null) argv.push(`--model=${partOfArgument('model', model)}`);
  if (options.effort !== null) argv.push(`--effort=${claudeEffort(options.effort)}`);
  if (options.budgetUsd !== null && options.stopAtBudget) argv.push(`--max-budget-usd=${options.budgetUsd}`);
  if (options.outputSchema)
    argv.push(`--json-schema=${partOfArgument('output schema', JSON.stringify(options.outputSchema))}`);
  if (input.chatId !== null)
    argv.push(input.continues ? '--resume' : '--session-id', chatUuid('Claude Code', input.chatId));
  const forked = forkedChat(input);
  if (forked !== null) argv.push('--resume', chatUuid('Claude Code', forked), '--fork-session');
  // Overrides the user's timeout, because a question may wait for an answer as long as the turn lasts.
  const toolTimeout = options.approvals === 'ask' && !isFed && { MCP_TOOL_TIMEOUT: String(input.timeoutMs) };
  return {
    argv,
    ...(isFed ? { stdin: null, isFed } : { stdin: input.promptFile }),
    env: {
      ...{ ...FEWER_RETRIES, ...input.env, ...QUIET, ...toolTimeout },
      // Claude Code refuses to run as root with permission `full` unless this variable is set.
      ...(isSandboxed && { IS_SANDBOX: '1' }),
    },
  };
}

/** By default Claude Code retries a failing API for many minutes. */
const FEWER_RETRIES = { CLAUDE_CODE_MAX_RETRIES: '4' };

const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  // With tool search the model would have to search for Squad's tools first.
  ENABLE_TOOL_SEARCH: 'false',
};

const mcpConfig = ({ url, token }: RunEndpoint): string =>
  JSON.stringify({
    mcpServers: { [SQUAD_SERVER]: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } } },
  });

/**
 * Claude Code would end with a line on stderr if it runs as root. Only the user knows whether this machine is a
 * sandbox.
 */
function refuseAsRoot(env: Record<string, string>): void {
  if (process.getuid?.() !== 0 || env.IS_SANDBOX === '1') return;
  throw new SquadError('NOT_ALLOWED', 'Claude Code does not run with permission "full" as root.', {
    suggestions: [
      'Run Squad as another user, or ask for permission "edit".',
      'If this machine is a sandbox, set IS_SANDBOX=1 in the environment of the client.',
    ],
  });
}

const LEVELS = ['low', 'medium', 'high', 'xhigh', 'max'];

/** Claude Code would only warn about an unknown effort on stderr, and use its default. */
export function claudeEffort(effort: string): string {
  if (LEVELS.includes(effort)) return effort;
  throw new SquadError(
    'INVALID_INPUT',
    `Claude Code has no effort ${JSON.stringify(effort.slice(0, 60).toWellFormed())}`,
    {
      suggestions: [`Efforts: ${LEVELS.join(', ')}.`],
    },
  );
}

export function claudeProjectSettings(env: Record<string, string>): ProjectSettings {
  const decisions = fields(
    fieldsOf(readText(join(env.CLAUDE_CONFIG_DIR || env.HOME || '/', '.claude.json')))?.projects,
  );
  return {
    cli: 'Claude Code',
    program: 'claude',
    files: ['.claude/settings.json', '.claude/settings.local.json'],
    runsCommands:
      /"(hooks|env|apiKeyHelper|awsAuthRefresh|awsCredentialExport|gcpAuthRefresh|otelHeadersHelper)"\s*:/,
    isTrusted: folder => fields(decisions[folder]).hasTrustDialogAccepted === true,
  };
}
