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
