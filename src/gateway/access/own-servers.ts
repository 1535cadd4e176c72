import { type Roots, resolveServer } from '../../core/gateway/variables.ts';
import { SERVER_OF_VARIABLE } from '../../process/table/process-info.ts';
import type { Secret } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { McpConfig, OwnServers } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';

/**
 * A call of a subagent has the servers that its file names, and no others: what is configured for the workspace is nothing to
 * it, now or when it changes.
 */
export const hasOwnServers = ({ options: { servers, subagent } }: Run): boolean =>
  servers !== null || subagent !== null;

/** One that says nothing hangs; whoever waits for it cannot see that. */
const START_MS = 30_000;

/** How long such a server may take to be ready. */
export const ownStartMs = (servers: Pick<OwnServers, 'startTimeouts'> | null, id: string): number =>
  servers?.startTimeouts?.[id] ?? START_MS;

/** What such a server is started with: all that its run has, and whose it is. */
export const ownEnvironment = (
  runId: RunId,
  variables: Readonly<Record<string, string>>,
): Record<string, string> => ({ ...variables, [SERVER_OF_VARIABLE]: runId });

/** Each of them is started with all that the others are told in confidence, so none may tell any of it. */
export function ownSecrets(
  { servers }: McpConfig,
  values: { variables: Readonly<Record<string, string>>; roots: Roots },
): Secret[] {
  const resolved = Object.entries(servers).map(([id, server]) => resolveServer(id, server, values));
  return resolved.flatMap(each => ('key' in each ? each.secrets : []));
}
