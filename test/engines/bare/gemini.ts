import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BareCli, stdioServer } from './options.ts';

export const gemini: BareCli = ({ url, home, chat, mcp, ungranted }) => {
  mkdirSync(join(home, '.gemini'), { recursive: true });
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, maxAttempts: 2 },
    privacy: { usageStatisticsEnabled: false },
    model: { maxSessionTurns: 20 },
    ...(mcp && { mcpServers: { [mcp.name]: { ...stdioServer(mcp), trust: !ungranted } } }),
  };
  writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
  return {
    args: [
      // Without a model it asks another one first which to take.
      ...['-m', 'gemini-3-pro', '-o', 'stream-json', '--approval-mode', ungranted ? 'default' : 'yolo'],
      ...(chat ? ['--resume', chat] : []),
    ],
    env: {
      GEMINI_API_KEY: 'fake-key',
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_CLI_HOME: home,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: 'true',
    },
  };
};
