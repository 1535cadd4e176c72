import { randomUUID } from 'node:crypto';
import { cliDriver, cliReader } from '../acp/acp-cli.ts';
import { asksUser } from '../asks-user.ts';
import { chatUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { copyGeminiChat, geminiChats } from './gemini-chats.ts';
import { geminiCommand, geminiHome } from './gemini-command.ts';
import { geminiPolicy } from './gemini-policy.ts';
import { geminiReader } from './gemini-reader.ts';
import { geminiSandbox } from './gemini-settings.ts';

export const GEMINI: CliProfile = {
  id: 'gemini',
  name: 'Gemini CLI',
  programs: ['gemini'],
  install: 'npm install -g @google/gemini-cli',
  login: 'Run `gemini` once in a terminal and log in, or set GEMINI_API_KEY.',
  versions: { from: '0.55.1', tested: '0.61.0' },
  loadsItself: ['GEMINI.md'],
  usageIsReported: 'at_end',
  variables:
    /^((GEMINI|CLOUDSDK|GOOGLE_(CLOUD|GENAI|GEMINI|VERTEX))_|GOOGLE_(API_KEY|APPLICATION_CREDENTIALS)$)/,
  // In headless mode Gemini CLI's own policy denies `ask_user`. That also hides a tool of this name from an MCP
  // server.
  toolNames: { ask_user: 'ask_person' },
  takesSchema: false,
  // With the Agent Client Protocol, Gemini CLI chooses the id.
  newChat: { kind: 'minted', mint: options => (asksUser(options) ? null : randomUUID()) },
  command: geminiCommand,
  savedChats: geminiChats,
  adoption: 'copies',
  copyChat: copyGeminiChat,
  resume: chatId => ['--resume', chatUuid('Gemini CLI', chatId)],
  prepareResume: geminiHome,
  sandbox: geminiSandbox,
  reader: () => cliReader(geminiReader(), { repeatsLate: true }),
  driver: start => cliDriver(start, { refusal: 'interrupts', staysOpen: true }),
  policy: geminiPolicy,
};
