import { z } from 'zod';
import { operation } from '../operation.ts';

/**
 * Asked before the terminal changes what is trusted. The files are the terminal's to show and to write; who may is for the
 * hub to say, which knows whether the terminal is an agent's.
 */
export const changeTrust = operation({
  name: 'change_trust',
  route: 'POST /trust',
  agents: null,
  tool: null,
  input: z.strictObject({}),
  output: z.object({}),
  run: async () => ({}),
});

const MAX_NAMED = 5;

/** What came with the repository and was passed over: nothing must quietly be otherwise than its files say. */
export function untrustedConfigWarning(passedOver: readonly { key: string; file: string }[]): string[] {
  const all = [...new Set(passedOver.map(({ key, file }) => `${key} in ${file}`))];
  return all.length === 0
    ? []
    : [`Not used until you run \`squad trust\`: ${all.slice(0, MAX_NAMED).join(', ')}.`];
}
