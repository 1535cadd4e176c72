import { distrustHub, hubAnswers } from './hub-proof.ts';
import { token } from './token.ts';

/**
 * Loads more code of the web UI. Code from another program on this port would run in the web UI and could read its
 * token, so the hub must prove its identity first, and again if it was lost during the load.
 */
export async function fromHub<T>(load: () => Promise<T>): Promise<T> {
  if (token.value === null) return load();
  await hubAnswers(token.value);
  return load().catch(async () => {
    distrustHub();
    if (token.value !== null) await hubAnswers(token.value);
    return load();
  });
}
