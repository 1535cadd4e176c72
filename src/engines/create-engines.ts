import { join } from 'node:path';
import type { Engines } from '../core/ports.ts';
import { findExecutable } from '../process/find-executable.ts';
import { createScriptedEngine } from './scripted/scripted-engine.ts';
import { createTemplateEngine } from './template/template-engine.ts';

export interface EngineSurroundings {
  node: string;
  /** The folder of the bundled programs. */
  programs: string;
  home: string;
}

/** Every engine there is, from the spec a run keeps. */
export function createEngines({ node, programs, home }: EngineSurroundings): Engines {
  const scripted = createScriptedEngine({
    node,
    agentScript: join(programs, 'scripted-agent.cjs'),
    chatsDir: join(home, 'chats'),
  });
  return {
    create(spec) {
      if (spec.kind === 'scripted') return scripted;
      return createTemplateEngine({ ...spec, findExecutable });
    },
  };
}
