import { SERVER_OF_VARIABLE } from '../process/process-info.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';

/**
 * A call of a subagent has the servers that its file names, and no others: what is configured for the workspace is nothing to
 * it, now or when it changes.
 */
export const hasOwnServers = ({ options: { servers, subagent } }: Run): boolean =>
  servers !== null || subagent !== null;

/** What such a server is started with: all that its run has, and whose it is. */
export const ownEnvironment = (
  runId: RunId,
  variables: Readonly<Record<string, string>>,
): Record<string, string> => ({ ...variables, [SERVER_OF_VARIABLE]: runId });
