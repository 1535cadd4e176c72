import type { ServerCapabilities } from '@modelcontextprotocol/server';
import { LEGACY_TASKS } from '../http/legacy-tasks.ts';
import type { Era, Face } from './face.ts';
import { TASKS } from './face-tasks.ts';

/** What a face offers, in the words a client is told at the start. */
export function capabilitiesOf(face: Face, era: Era): ServerCapabilities {
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
    ...(face.tasks && (era === 'modern' ? { extensions: { [TASKS]: {} } } : { tasks: LEGACY_TASKS })),
  };
}
