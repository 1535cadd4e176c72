import { join } from 'node:path';
import type { RunEndpoint } from '../core/ports/engine.ts';
import type { RunFiles } from '../core/ports/run-files.ts';
import type { Store } from '../core/ports/store.ts';
import type { TurnRef } from '../core/ports/turns.ts';
import { hashOf, mintToken } from '../hub/token.ts';
import { IDENTITY_FILE, parseIdentity } from '../link/identity-file.ts';
import type { Run } from '../schema/run.ts';

export interface RunEndpointPorts {
  home: string;
  /** The folder of the bundled programs. */
  programs: string;
  files: RunFiles;
  store: Store;
  /** The hub's HTTP address; null when the port could not be opened. */
  url(): Promise<string | null>;
}

/**
 * Creates a new identity for each turn, and says where the agent finds Squad. The hash is stored with the start of the turn;
 * until then a later hub reads it from the file.
 */
export async function endpointOf(
  run: Run,
  turn: TurnRef,
  { home, programs, files, url: urlOf }: RunEndpointPorts,
): Promise<RunEndpoint | null> {
  const url = await urlOf();
  if (url === null) return null;
  const { token, hash } = mintToken();
  const file = await files.write(turn, IDENTITY_FILE, JSON.stringify({ token, home }));
  run.tokenHash = hash;
  const args = [join(programs, '..', 'bin', 'squad.cjs'), 'mcp', '--identity', file];
  return { url, token, relay: { command: process.execPath, args } };
}

/** For runs whose start an earlier hub could not record before it died. */
export async function restoreTokens(
  runs: Run[],
  { files, store }: Pick<RunEndpointPorts, 'files' | 'store'>,
): Promise<void> {
  for (const run of runs) {
    if (run.tokenHash !== null || run.status === 'queued') continue;
    const number = (await store.turns(run.id)).at(-1)?.number ?? 1;
    const identity = parseIdentity((await files.read({ runId: run.id, number }, IDENTITY_FILE)) ?? '');
    if (identity) run.tokenHash = hashOf(identity.token);
  }
}
