import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Engine } from '../../core/ports/engine.ts';
import { programFolders } from '../../process/programs/program-folders.ts';
import { SquadError } from '../../schema/error.ts';
import { newChatId } from '../../schema/ids.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { parseEventLine } from './event-line.ts';
import { scriptIn } from './script.ts';

export interface ScriptedEngineOptions {
  node: string;
  agentScript: string;
}

/**
 * An agent that follows a script instead of a model, for demos, dry runs and tests. Its answers say that no model was
 * involved.
 */
export function createScriptedEngine({ node, agentScript }: ScriptedEngineOptions): Engine {
  return {
    id: 'scripted',
    reader: () => ({ line: parseEventLine }),
    policy: scriptedPolicy,
    loadsItself: [],
    wantsEndpoint: true,
    needsVariable: () => false,
    takesSchema: false,
    usageIsReported: 'live',
    newChat: { kind: 'minted', mint: newChatId },
    interactive: null,
    sandbox: ({ env }) => ({
      programs: [...programFolders(node, env), dirname(agentScript)],
      ...{ login: [], drops: [], writes: [], hosts: [] },
    }),
    sandboxLimit: null,
    async command(input) {
      scriptIn(input.prompt); // throws for an invalid script
      const chat = join(input.files.chatFolder, 'prompts.json');
      // The chat of a run on another machine is stored there, so it cannot be checked here.
      if (input.continues && input.options.machine === null && !existsSync(chat))
        throw unknownChat(input.chatId);
      return {
        argv: [node, agentScript, ...(input.continues ? ['--continue'] : [])],
        stdin: input.promptFile,
        env: {
          ...input.env,
          SQUAD_SCRIPTED_CHAT: chat,
          SQUAD_SCRIPTED_ROLE: input.roleId,
          ...(input.endpoint && {
            SQUAD_MCP_URL: input.endpoint.url,
            SQUAD_MCP_TOKEN: input.endpoint.token,
          }),
        },
      };
    },
  };
}

/** Nothing restricts what a script does. */
function scriptedPolicy({ permission, tools }: RunOptions): PolicyRule[] {
  const note = 'the scripted engine follows its script';
  return [
    ...(permission === 'read' ? [{ rule: 'permission: read', heldBy: 'advisory' as const, note }] : []),
    ...(tools === null ? [] : [{ rule: `tools: ${tools.join(', ')}`, heldBy: 'advisory' as const, note }]),
  ];
}

const unknownChat = (chatId: string | null) =>
  new SquadError('CHAT_UNKNOWN', `The scripted engine has no chat ${JSON.stringify(chatId?.slice(0, 100))}`, {
    suggestions: ['Leave chatId out to open a new chat.'],
  });
