import { join } from 'node:path';
import type { Hello, View } from './hello.ts';
import type { HubProgram } from './start-hub.ts';

declare const SQUAD_VERSION: string;

/** Written in by the build. */
export const version = SQUAD_VERSION;

/** The programs that came with this one, in the same folder. */
export const hubProgram: HubProgram = { node: process.execPath, script: join(__dirname, 'hub.cjs') };

export function helloFor(view: View, workspace?: string): Hello {
  return {
    squad: 1,
    version,
    view,
    pid: process.pid,
    cwd: process.cwd(),
    env: ownEnvironment(),
    hub: hubProgram,
    ...(workspace !== undefined && { workspace }),
  };
}

export const ownEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
