import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { cliDriver, cliReader } from '../acp/acp-cli.ts';
import { asksUser } from '../asks-user.ts';
import { markOf } from '../chat-mark.ts';
import { chatUuid, isUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { copilotChats } from './copilot-chats.ts';
import { copilotCommand, copilotHome, copilotSandbox } from './copilot-command.ts';
import { copilotReader } from './copilot-reader.ts';
import { copilotPolicy } from './copilot-tools.ts';
import { nativeProgram } from './native-program.ts';

export const COPILOT: CliProfile = {
  id: 'copilot',
  name: 'GitHub Copilot CLI',
  programs: ['copilot'],
  install: 'npm install -g @github/copilot',
  login:
    'Run `copilot login` in a terminal, or set COPILOT_GITHUB_TOKEN (or the COPILOT_PROVIDER_ variables of a model of your own).',
  versions: { from: '1.0.102', tested: '1.0.102' },
  resolve: nativeProgram,
  loadsItself: ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'],
  usageIsReported: 'at_end',
  variables: /^(COPILOT_|((GH|GITHUB)_TOKEN|GH_HOST)$)/,
  takesSchema: false,
  // With the Agent Client Protocol, Copilot CLI chooses the id.
  newChat: { kind: 'minted', mint: options => (asksUser(options) ? null : randomUUID()) },
  command: copilotCommand,
  chatMark: async ({ chatId, env }) =>
    isUuid(chatId) ? markOf([join(copilotHome(env), 'session-state', chatId, 'events.jsonl')]) : null,
  savedChats: copilotChats,
  adoption: 'continues',
  resume: chatId => [`--resume=${chatUuid('Copilot CLI', chatId)}`],
  sandbox: copilotSandbox,
  reader: () => cliReader(copilotReader(), { usage: 'process', notes: PROGRAM_MESSAGES }),
  driver: start => cliDriver({ ...start, endpoint: null }, { refusal: 'ends_turn' }),
  policy: copilotPolicy,
};

/** With the Agent Client Protocol, these are messages like those of the model. */
const PROGRAM_MESSAGES =
  /^Info: (Disabled tools: |Unknown tool name in the tool allowlist: |Operation cancelled by user)/;
