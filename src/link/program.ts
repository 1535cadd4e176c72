import { join } from 'node:path';
import { definedVariables, type Handshake, type View } from './handshake.ts';
import type { HubProgram } from './start-hub.ts';

declare const SQUAD_VERSION: string;

/** Written in by the build. */
export const version = SQUAD_VERSION;

/** The programs that came with this one, in the same folder. */
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

/** Node throws its own error when the folder it was started in has been removed since. */
export function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw Object.assign(new Error('The current folder does not exist any more', { cause: error }), {
      code: 'CWD_MISSING',
      suggestions: ['Start this from a folder that is there.'],
    });
  }
}
