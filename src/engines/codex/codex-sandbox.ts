import { join } from 'node:path';
import type { CliProfile } from '../cli-profile.ts';
import { addressesIn, filesOf, homeOf, hostsIn } from '../sandbox-needs.ts';
import { mayWrite } from './codex-permissions.ts';
import { codexHome, userConfig } from './user-config.ts';

export const codexSandbox: CliProfile['sandbox'] = ({ env, options }) => {
  const inside = join(homeOf(env), '.codex');
  return {
    login: filesOf(codexHome(env) ?? inside, inside, ['auth.json', 'config.toml', 'AGENTS.md']),
    drops: ['CODEX_HOME'],
    // Codex's own sandbox, which is off inside Squad's, would enforce this.
    isReadOnly: !mayWrite(options.tools),
    hosts: [
      'api.openai.com',
      'chatgpt.com',
      // Host that renews the login.
      'auth.openai.com',
      ...hostsIn([env.OPENAI_BASE_URL, env.AZURE_OPENAI_ENDPOINT, ...addressesIn(userConfig(env))]),
    ],
  };
};
