import type { ServerCapabilities } from '@modelcontextprotocol/server';
import type { Face } from './face.ts';

/** What a face offers, in the words a client is told at the start. */
export function capabilitiesOf(face: Face): ServerCapabilities {
  const { tools, resources, prompts } = face;
  return {
    tools: tools.mayChange ? { listChanged: true } : {},
    ...(resources && {
      resources: {
        ...(resources.mayChange && { listChanged: true }),
        ...(resources.watchable && { subscribe: true }),
      },
    }),
    ...(prompts && { prompts: prompts.mayChange ? { listChanged: true } : {} }),
    ...(face.complete && { completions: {} }),
    ...(face.logging && { logging: {} }),
  };
}
