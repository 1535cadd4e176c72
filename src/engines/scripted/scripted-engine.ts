import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../core/ports.ts';
import { SquadError } from '../../schema/error.ts';
import { newChatId } from '../../schema/ids.ts';
import { parseEventLine } from './event-line.ts';
import { scriptIn } from './script.ts';

export interface ScriptedEngineOptions {
  /** How to start the agent program. */
  node: string;
  agentScript: string;
  /** Where its chats are remembered. */
  chatsDir: string;
}

/** An agent that follows a script instead of a model: for demos, dry runs and tests. It says so in everything it returns. */
export function createScriptedEngine({ node, agentScript, chatsDir }: ScriptedEngineOptions): Engine {
  return {
    id: 'scripted',
    parseLine: parseEventLine,
    newChat: { kind: 'minted', mint: newChatId },
    async command(input) {
      scriptIn(input.prompt); // a script that cannot be read refuses the call
      const chat: Record<string, string> =
        input.chatId === null ? {} : { SQUAD_SCRIPTED_CHAT: chatFile(chatsDir, input.chatId) };
      if (input.continues && !existsSync(chat.SQUAD_SCRIPTED_CHAT ?? '')) throw unknownChat(input.chatId);
      return {
        argv: [node, agentScript, ...(input.continues ? ['--continue'] : [])],
        stdin: input.promptFile,
        env: { ...input.env, ...chat, SQUAD_SCRIPTED_ROLE: input.roleId },
      };
    },
  };
}

function chatFile(chatsDir: string, chatId: string): string {
  if (/^[\w-]{1,100}$/.test(chatId)) return join(chatsDir, `${chatId}.json`);
  throw unknownChat(chatId);
}

const unknownChat = (chatId: string | null) =>
  new SquadError('CHAT_UNKNOWN', `The scripted engine has no chat ${JSON.stringify(chatId?.slice(0, 100))}`, {
    suggestions: ['Leave chatId out to open a new chat.'],
  });
