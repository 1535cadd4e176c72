import { randomUUID } from 'node:crypto';
import { chatUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { streamJsonDriver } from '../stream-json-driver.ts';
import { claudeChats } from './claude-chats.ts';
import { claudeCommand } from './claude-command.ts';
import { claudePolicy } from './claude-permissions.ts';
import { claudeReader } from './claude-reader.ts';
import { claudeSandbox } from './claude-sandbox.ts';

export const CLAUDE: CliProfile = {
  id: 'claude',
  name: 'Claude Code',
  programs: ['claude'],
  install: 'npm install -g @anthropic-ai/claude-code',
  login: 'Run `claude` once in a terminal and log in, or set ANTHROPIC_API_KEY.',
  versions: { from: '2.1.197', tested: '2.1.325' },
  loadsItself: ['CLAUDE.md'],
  // Includes variables of Bedrock, Vertex and Foundry, which have their own logins.
  variables:
    /^((ANTHROPIC|CLAUDE|AWS|CLOUD_ML|CLOUDSDK|VERTEX|GOOGLE_CLOUD)_|(GOOGLE_APPLICATION_CREDENTIALS|GCLOUD_PROJECT)$|AZURE_(CLIENT|TENANT|FEDERATED|AUTHORITY)_)/,
  takesSchema: true,
  usageIsReported: 'live',
  newChat: { kind: 'minted', mint: () => randomUUID() },
  command: claudeCommand,
  savedChats: claudeChats,
  adoption: 'forks',
  resume: chatId => ['--resume', chatUuid('Claude Code', chatId)],
  sandbox: claudeSandbox,
  reader: claudeReader,
  driver: start => streamJsonDriver(start),
  policy: claudePolicy,
};
