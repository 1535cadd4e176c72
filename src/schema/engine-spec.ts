import { z } from 'zod';

/** What is needed to build the same engine again after a restart. Kept with the run, so that a later change of config cannot change it. */
export const EngineSpec = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('template'),
    runTemplate: z.string(),
    createChatTemplate: z.string().nullable(),
    engineCommand: z.string(),
  }),
  z.object({ kind: z.literal('scripted') }),
]);
export type EngineSpec = z.infer<typeof EngineSpec>;
