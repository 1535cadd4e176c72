import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type InteractiveInput, SQUAD_SERVER, type TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import { SquadError } from '../../schema/error.ts';
import { asksUser } from '../asks-user.ts';
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
  const isFed = asksUser(options);
  // In a fed turn the driver, not the settings file, names Squad's MCP server.
  const endpoint = isFed ? null : input.endpoint;
  const settings = await files.writeInChat(
    '.gemini/settings.json',
    geminiSettings(env, endpoint, options.sandbox.level !== 'off' || options.machine !== null),
  );
  // A dry run writes nothing.
  if (existsSync(settings)) {
    linkLogin(env, home);
    if (isFed && continues && chatId !== null) protectSession(home, chatId);
  }
  // In a fed turn the driver, not the command line, names the chat.
  const chat = isFed ? null : chatId;
  return {
    argv: [
      program,
      ...(isFed ? ['--acp'] : ['--output-format', 'stream-json']),
      `--model=${partOfArgument('model', input.model ?? (env.GEMINI_MODEL || DEFAULT_MODEL))}`,
      ...['--approval-mode', APPROVAL_MODE[options.permission]],
      ...['--policy', rules],
      ...['--allowed-mcp-server-names', SQUAD_SERVER],
      ...['--extensions', 'none'],
      ...(chat === null ? [] : [continues ? '--resume' : '--session-id', chatUuid('Gemini CLI', chat)]),
    ],
    ...(isFed ? { stdin: null, isFed } : { stdin: input.promptFile }),
    env: {
      ...env,
      GEMINI_CLI_HOME: home,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: 'true',
    },
  };
}

/**
 * Gemini CLI writes a session to a file that has the minute and the beginning of its id as a name. If it loads a session
 * in the same minute, it overwrites the file. Another name keeps the session.
 */
function protectSession(home: string, chatId: string): void {
  const id = chatUuid('Gemini CLI', chatId).slice(0, 8);
  const projects = join(home, '.gemini', 'tmp');
  for (const project of namesIn(projects)) {
    const chats = join(projects, project, 'chats');
    const kept = join(chats, `session-squad-${id}.jsonl`);
    const [file] = namesIn(chats).filter(
      name => name.startsWith('session-') && name.endsWith(`-${id}.jsonl`),
    );
    if (file !== undefined && !existsSync(kept)) renameSync(join(chats, file), kept);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the folder does not exist, or is a file
  }
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
