import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type InteractiveInput, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { SquadError } from '../../schema/error.ts';
import { chatUuid } from '../chat-uuid.ts';
import { partOfArgument } from '../one-argument.ts';
import { APPROVAL_MODE, geminiRules } from './gemini-policy.ts';
import { geminiSettings, linkLogin } from './gemini-settings.ts';
import { refuseProjectCommands } from './project-commands.ts';

/** Gemini's alias for the best available model. Without a model, Gemini CLI asks a classifier which one to use. */
const DEFAULT_MODEL = 'pro';

/**
 * Gemini CLI takes settings only from a home folder. Therefore each chat has its own home folder, which also stores
 * the chat.
 */
export async function geminiCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { files, options, env, chatId, continues } = input;
  const home = files.chatFolder;
  refuseProjectCommands(input.cwd, env, input.worktree);
  if (continues && !existsSync(join(home, '.gemini'))) throw unknownChat(chatId);
  const rules = await files.write('policy.toml', geminiRules(options));
  const settings = await files.writeInChat(
    '.gemini/settings.json',
    geminiSettings(env, input.endpoint, options.sandbox.level !== 'off' || options.machine !== null),
  );
  if (existsSync(settings)) linkLogin(env, home); // a dry run writes nothing
  return {
    argv: [
      program,
      ...['--output-format', 'stream-json'],
      `--model=${partOfArgument('model', input.model ?? (env.GEMINI_MODEL || DEFAULT_MODEL))}`,
      ...['--approval-mode', APPROVAL_MODE[options.permission]],
      ...['--policy', rules],
      ...['--allowed-mcp-server-names', SQUAD_SERVER],
      ...['--extensions', 'none'],
      ...(chatId === null ? [] : [continues ? '--resume' : '--session-id', chatUuid('Gemini CLI', chatId)]),
    ],
    stdin: input.promptFile,
    env: {
      ...env,
      GEMINI_CLI_HOME: home,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: 'true',
    },
  };
}

/**
 * Home folder of a chat for interactive use, without Squad's MCP server, because the run's token is no longer valid.
 */
export async function geminiHome({ chatId, env, files }: InteractiveInput): Promise<Record<string, string>> {
  const home = files.chatFolder;
  if (!existsSync(join(home, '.gemini'))) throw unknownChat(chatId);
  await files.writeInChat('.gemini/settings.json', geminiSettings(env, null));
  linkLogin(env, home);
  // The user decides whether to trust the folder, because an agent may have left settings in it.
  return { GEMINI_CLI_HOME: home };
}

const unknownChat = (chatId: string | null) =>
  new SquadError('CHAT_UNKNOWN', `The gemini engine does not know the chat ${chatId}`, {
    suggestions: ['Only chats that Squad opened can be continued. Leave chatId out to open a new one.'],
  });
