import { join } from 'node:path';
import { definedVariables, type Handshake, type View } from './handshake.ts';
import type { HubProgram } from './start-hub.ts';

declare const SQUAD_VERSION: string;

/** Version of Squad, inserted by the build. */
export const version = SQUAD_VERSION;

/** The hub's program is in the same folder as this one. */
export const hubProgram: HubProgram = { node: process.execPath, script: join(__dirname, 'hub.cjs') };

export function handshakeFor(view: View, workspace?: string): Handshake {
  return {
    squad: 1,
    version,
    view,
    pid: process.pid,
    cwd: currentFolder(),
    env: definedVariables(process.env),
    startsHub: true,
    ...(workspace !== undefined && { workspace }),
  };
}

/** Throws a clearer error than Node's own when the current folder was removed. */
export function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw Object.assign(new Error('The current folder no longer exists', { cause: error }), {
      code: 'CWD_MISSING',
      suggestions: ['Run this in an existing folder.'],
    });
  }
}
