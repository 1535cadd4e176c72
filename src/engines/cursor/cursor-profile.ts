import type { CliProfile } from '../cli-profile.ts';
import { partOfArgument } from '../one-argument.ts';
import { filesOf, homeOf, hostsIn } from '../sandbox-needs.ts';
import { cursorCommand, cursorPolicy } from './cursor-command.ts';
import { cursorReader } from './cursor-reader.ts';

export const CURSOR: CliProfile = {
  id: 'cursor',
  name: 'Cursor Agent',
  // Cursor's installer also creates a link named `agent`, but that name is too common to identify it.
  programs: ['cursor-agent'],
  install: 'see https://cursor.com/docs/cli/installation',
  login: 'Run `cursor-agent login` in a terminal, or set CURSOR_API_KEY.',
  versions: null,
  loadsItself: ['AGENTS.md', 'CLAUDE.md'],
  usageIsReported: 'never',
  variables: /^CURSOR_/,
  takesSchema: false,
  newChat: { kind: 'reported' },
  command: cursorCommand,
  savedChats: null,
  adoption: 'continues',
  // Untested: taken from Cursor's documentation.
  resume: chatId => [`--resume=${partOfArgument('chat id', chatId)}`],
  // Untested: taken from Cursor's documentation.
  sandbox: ({ env }) => ({
    login: [
      ...filesOf(homeOf(env), homeOf(env), ['.cursor/cli-config.json']),
      ...filesOf(env.XDG_CONFIG_HOME || `${homeOf(env)}/.config`, `${homeOf(env)}/.config`, [
        'cursor/auth.json',
      ]),
    ],
    hosts: ['*.cursor.sh', '*.cursor.com', ...hostsIn([env.CURSOR_API_ENDPOINT])],
  }),
  reader: cursorReader,
  policy: cursorPolicy,
};
