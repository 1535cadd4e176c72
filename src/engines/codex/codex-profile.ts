import { chatUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { codexChatMark } from './codex-chat-mark.ts';
import { codexChats } from './codex-chats.ts';
import { codexCommand } from './codex-command.ts';
import { codexDriver } from './codex-driver.ts';
import { codexPolicy } from './codex-permissions.ts';
import { codexReader } from './codex-reader.ts';
import { codexSandbox } from './codex-sandbox.ts';
import { configuredModel } from './user-config.ts';

export const CODEX: CliProfile = {
  id: 'codex',
  name: 'Codex',
  programs: ['codex'],
  install: 'npm install -g @openai/codex',
  login: 'Run `codex login` in a terminal, or set CODEX_API_KEY.',
  versions: { from: '0.166.0', tested: '0.166.0' },
  loadsItself: ['AGENTS.md'],
  variables: /^(CODEX|OPENAI|AZURE_OPENAI)_/,
  takesSchema: true,
  usageIsReported: 'at_end',
  newChat: { kind: 'reported' },
  command: codexCommand,
  configuredModel,
  chatMark: codexChatMark,
  savedChats: codexChats,
  adoption: 'forks',
  resume: chatId => ['resume', chatUuid('Codex', chatId)],
  sandbox: codexSandbox,
  reader: codexReader,
  driver: codexDriver,
  policy: codexPolicy,
};
