import type { CliProfile } from '../cli-profile.ts';
import { opencodeCommand } from './opencode-command.ts';
import { opencodePolicy } from './opencode-permissions.ts';
import { opencodeReader } from './opencode-reader.ts';

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
  variables: /_API_KEY$|^(OPENCODE|ANTHROPIC|OPENAI|AWS|GOOGLE|AZURE)_/,
  takesSchema: false,
  newChat: { kind: 'reported' },
  command: opencodeCommand,
  reader: opencodeReader,
  policy: opencodePolicy,
};
