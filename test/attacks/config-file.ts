import { expect } from 'vitest';
import type { TestSquad } from '../support/squad.ts';

/** Writes the servers of a workspace and trusts them, as the user would. */
export async function configure(squad: TestSquad, config: object): Promise<void> {
  writeConfig(squad, config);
  const { code, stderr } = await squad.run(['trust', '-y', '.squad/mcp-config.json']);
  expect(code, stderr).toBe(0);
}

export const writeConfig = (squad: TestSquad, config: object): string =>
  squad.write('.squad/mcp-config.json', JSON.stringify(config, null, 2));

export interface Upstream {
  server: string;
  health: string;
  fault: string | null;
  pid: number | null;
  tools: number | null;
  pending: number;
  calls: number;
}

export const upstreamsOf = async (squad: TestSquad): Promise<Upstream[]> =>
  (await squad.json<{ servers: Upstream[] }>(['mcp', 'status'])).servers;
