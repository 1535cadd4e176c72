import { randomUUID } from 'node:crypto';
import { chatUuid } from '../chat-uuid.ts';
import type { CliProfile } from '../cli-profile.ts';
import { streamJsonDriver } from '../stream-json-driver.ts';
import { qwenChatMark } from './qwen-chat-file.ts';
import { qwenChats } from './qwen-chats.ts';
import { qwenCommand, qwenSandbox } from './qwen-command.ts';
import { qwenPolicy } from './qwen-permissions.ts';
import { qwenReader } from './qwen-reader.ts';

export const QWEN: CliProfile = {
  id: 'qwen',
  name: 'Qwen Code',
  programs: ['qwen'],
  install: 'npm install -g @qwen-code/qwen-code',
  login:
    'Run `qwen` once in a terminal and set it up, or set OPENAI_API_KEY (with OPENAI_BASE_URL and OPENAI_MODEL).',
  versions: { from: '0.24.4', tested: '0.24.4' },
  loadsItself: ['QWEN.md', 'AGENTS.md'],
  variables:
    /^((QWEN|OPENAI|ANTHROPIC|DASHSCOPE|BAILIAN|GEMINI|GOOGLE_(CLOUD|GENAI))_|GOOGLE_(API_KEY|APPLICATION_CREDENTIALS)$|(DEEPSEEK|MINIMAX|MODELSCOPE|MOONSHOT|OPENROUTER|REQUESTY|XAI|ZAI)_API_KEY$)/,
  takesSchema: true,
  usageIsReported: 'live',
  newChat: { kind: 'minted', mint: () => randomUUID() },
  command: qwenCommand,
  chatMark: qwenChatMark,
  savedChats: qwenChats,
  adoption: 'forks',
  resume: chatId => [`--resume=${chatUuid('Qwen Code', chatId)}`],
  sandbox: qwenSandbox,
  reader: qwenReader,
  driver: start => streamJsonDriver(start, { repeatsMessages: false }),
  policy: qwenPolicy,
};
