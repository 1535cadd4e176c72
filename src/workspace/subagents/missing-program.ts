import { isAbsolute } from 'node:path';
import { namesIn, substitute } from '../../core/gateway/substitution.ts';
import { findExecutable } from '../../process/programs/find-executable.ts';
import type { Server } from '../../schema/mcp-config.ts';
import type { Findings } from './findings.ts';
import type { Variables } from './variables.ts';

/** A program that is not on this machine may be on the one where the file is used. */
export function warnOfMissingProgram(
  name: string,
  server: Server,
  { env, folder }: Variables,
  findings: Findings,
): void {
  if (!('command' in server) || env.PATH === undefined) return;
  const isKnown = namesIn(server.command).every(variable => env[variable]);
  const command = substitute(server.command, variable => env[variable] ?? '');
  // Relative to the client's folder, which is not known here.
  const isElsewhere = command.includes('/') && !isAbsolute(command);
  if (!isKnown || isElsewhere) return;
  const { status } = findExecutable(command, { path: env.PATH, cwd: folder });
  if (status === 'found') return;
  const where = isAbsolute(command) ? 'is not there' : 'is not in PATH';
  findings.warn(
    ['mcpServers', name, 'command'],
    `the program "${command}" ${status === 'not_found' ? where : 'is not one that can be started'}`,
    { suggestion: `Install it, or write its path; until then the server "${name}" does not start.` },
  );
}
