import { join } from 'node:path';
import type { CliProfile } from '../cli-profile.ts';
import { cloudLogin, filesOf, homeOf, hostsIn } from '../sandbox-needs.ts';

/**
 * Claude Code's `.claude.json` is not shared with the sandbox: the file holds the prompts and servers of all projects,
 * and every chat rewrites it.
 */
export const claudeSandbox: CliProfile['sandbox'] = ({ env }) => {
  const inside = join(homeOf(env), '.claude');
  const cloud = cloudLogin(env, {
    aws: Boolean(
      env.CLAUDE_CODE_USE_BEDROCK || env.CLAUDE_CODE_USE_MANTLE || env.CLAUDE_CODE_USE_ANTHROPIC_AWS,
    ),
    google: Boolean(env.CLAUDE_CODE_USE_VERTEX || env.CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD),
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
      // Host that renews the login.
      'platform.claude.com',
      ...hostsIn(ADDRESSES.map(name => env[name])),
      ...(env.ANTHROPIC_FOUNDRY_RESOURCE
        ? [`${env.ANTHROPIC_FOUNDRY_RESOURCE}.services.ai.azure.com`, 'login.microsoftonline.com']
        : []),
      ...cloud.hosts,
    ],
  };
};

const ADDRESSES = [
  ...['ANTHROPIC_BASE_URL', 'ANTHROPIC_BEDROCK_BASE_URL', 'ANTHROPIC_BEDROCK_MANTLE_BASE_URL'],
  ...['ANTHROPIC_AWS_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL', 'ANTHROPIC_FOUNDRY_BASE_URL'],
  'ANTHROPIC_GOOGLE_CLOUD_BASE_URL',
];
