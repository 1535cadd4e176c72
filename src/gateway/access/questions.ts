import type { Json } from '../../wire/upstream/link.ts';
import type { Callee } from './finder.ts';
import type { Question } from './forward.ts';
import { withoutReservedMeta } from './own-meta.ts';
import { shapePlainResult, shapePromptResult, shapeReadResult, shapeToolResult } from './shape-result.ts';

/** Requests of agents in the words of the server they go to. */

export const toolCall = ({ pooled, own }: Callee, params: Json): Question => ({
  server: pooled,
  kind: 'tool',
  own,
  method: 'tools/call',
  params: { ...withoutReservedMeta(params), name: own },
  args: params.arguments ?? {},
  shape: shapeToolResult,
});

export const resourceRead = ({ pooled, own }: Callee, params: Json): Question => ({
  server: pooled,
  kind: 'resource',
  own,
  method: 'resources/read',
  params: { ...withoutReservedMeta(params), uri: own },
  args: undefined,
  shape: shapeReadResult,
});

export const promptGet = ({ pooled, own }: Callee, params: Json): Question => ({
  server: pooled,
  kind: 'prompt',
  own,
  method: 'prompts/get',
  params: { ...withoutReservedMeta(params), name: own },
  args: params.arguments,
  shape: shapePromptResult,
});

export const completion = ({ pooled, own }: Callee, params: Json, ref: Json): Question => ({
  server: pooled,
  kind: 'completion',
  own,
  method: 'completion/complete',
  params: {
    ...withoutReservedMeta(params),
    ref: { ...ref, ...(ref.type === 'ref/prompt' ? { name: own } : { uri: own }) },
  },
  args: undefined,
  shape: shapePlainResult,
});
