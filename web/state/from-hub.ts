import { distrustHub, hubAnswers } from './hub-proof.ts';
import { token } from './token.ts';

/**
 * More of the page's own code. What somebody else answers on this port would run as the page and find its token, so the hub is
 * waited for; once more if it went away just then.
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
