import { z } from 'zod';
import { operation } from '../operation.ts';

/**
 * Asked before a terminal changes what is trusted. The terminal shows and writes the files; the hub decides whether it may,
 * because it knows whether the terminal belongs to an agent.
 */
export const changeTrust = operation({
  name: 'change_trust',
  route: 'POST /trust',
  input: z.strictObject({}),
  output: z.object({}),
  run: async () => ({}),
});

const MAX_NAMED = 5;

/** Names settings of the repository that had no effect, so that nobody believes they had. */
export function untrustedConfigWarning(passedOver: readonly { key: string; file: string }[]): string[] {
  const all = [...new Set(passedOver.map(({ key, file }) => `${key} in ${file}`))];
  return all.length === 0
    ? []
    : [`Not used until you run \`squad trust\`: ${all.slice(0, MAX_NAMED).join(', ')}.`];
}
