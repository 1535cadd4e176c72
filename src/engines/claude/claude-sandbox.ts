import { join } from 'node:path';
import type { CliProfile } from '../cli-profile.ts';
import { cloudLogin, filesOf, homeOf, hostsIn } from '../sandbox-needs.ts';

/** Its `.claude.json` is not shared: it holds the prompts and servers of all projects, and every chat rewrites it. */
export const claudeSandbox: CliProfile['sandbox'] = ({ env }) => {
  const inside = join(homeOf(env), '.claude');
  const cloud = cloudLogin(env, {
    aws: Boolean(env.CLAUDE_CODE_USE_BEDROCK),
    google: Boolean(env.CLAUDE_CODE_USE_VERTEX),
  });
  return {
    login: [
      ...filesOf(env.CLAUDE_CONFIG_DIR || inside, inside, [
        '.credentials.json',
        'settings.json',
        'CLAUDE.md',
      ]),
      ...cloud.login,
    ],
    drops: ['CLAUDE_CONFIG_DIR'],
    hosts: [
      'api.anthropic.com',
      // Its login is renewed there.
      'platform.claude.com',
      'console.anthropic.com',
      ...hostsIn([env.ANTHROPIC_BASE_URL, env.ANTHROPIC_BEDROCK_BASE_URL, env.ANTHROPIC_VERTEX_BASE_URL]),
      ...cloud.hosts,
    ],
  };
};
