import { cliDriver, cliReader } from '../acp/acp-cli.ts';
import type { CliProfile } from '../cli-profile.ts';
import { oneArgument } from '../one-argument.ts';
import { opencodeCommand } from './opencode-command.ts';
import { opencodeChats } from './opencode-database.ts';
import { opencodePolicy } from './opencode-permissions.ts';
import { opencodeReader } from './opencode-reader.ts';
import { configuredModel, opencodeSandbox } from './user-config.ts';

export const OPENCODE: CliProfile = {
  id: 'opencode',
  name: 'opencode',
  programs: ['opencode'],
  install: 'npm install -g opencode-ai',
  login:
    'Run `opencode auth login` in a terminal, or set the key of your provider (ANTHROPIC_API_KEY, OPENAI_API_KEY…).',
  versions: { from: '1.18.3', tested: '1.18.33' },
  loadsItself: [],
  usageIsReported: 'live',
  variables:
    /^((OPENCODE|ANTHROPIC|OPENAI|AWS|AZURE|GOOGLE_(CLOUD|GENERATIVE_AI|VERTEX))_|GOOGLE_(API_KEY|APPLICATION_CREDENTIALS)$|(AI_GATEWAY|CEREBRAS|COHERE|DASHSCOPE|DEEPINFRA|DEEPSEEK|FIREWORKS|GEMINI|GROQ|KIMI|LMSTUDIO|MINIMAX|MISTRAL|MOONSHOT|NVIDIA|OLLAMA|OPENROUTER|PERPLEXITY|TOGETHER|XAI|ZHIPU)_API_KEY$)/,
  takesSchema: false,
  newChat: { kind: 'reported' },
  command: opencodeCommand,
  configuredModel,
  savedChats: opencodeChats,
  adoption: 'forks',
  resume: chatId => ['--session', oneArgument('chat id', chatId)],
  sandbox: opencodeSandbox,
  reader: () => cliReader(opencodeReader(), { usage: 'chat_cost' }),
  driver: start => cliDriver({ ...start, endpoint: null }, { joins: true, refusal: 'ends_turn' }),
  policy: opencodePolicy,
};
