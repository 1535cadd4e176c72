import type { Caller } from '../core/ports/workspace.ts';
import { emptyTeamFile } from '../core/team/state-files.ts';
import type { Services } from '../operations/operation.ts';
import { findRun } from '../operations/runs/find-runs.ts';
import { runResult } from '../operations/runs/run-result.ts';
import { SquadError } from '../schema/error.ts';
import { RunId } from '../schema/ids.ts';
import type { Face } from '../wire/face/face.ts';
import { teamResources } from './team-resources.ts';

export const IAC_LOG = 'agents://iac-log';
export const CONTEXT = 'agents://context';
export const runUri = (id: RunId): string => `agents://runs/${id}`;
const RUN = 'agents://runs/';

const MARKDOWN = 'text/markdown';
const JSON_TYPE = 'application/json';

type Resources = NonNullable<Face['resources']>;

/** The team's resources, for everybody; for the user's own clients also the runs and the inter-agent log. */
export function resources(services: Services, caller: Caller): Resources {
  const team = teamResources(services, caller);
  if (caller.parent) return team;
  const runs = runResources(services, caller);
  return {
    watchable: true,
    list: async peer => [...(await runs.list(peer)), ...(await team.list(peer))],
    templates: async peer => [
      ...((await runs.templates?.(peer)) ?? []),
      ...((await team.templates?.(peer)) ?? []),
    ],
    read: async (uri, call) => (await runs.read(uri, call)) ?? (await team.read(uri, call)),
  };
}

function runResources(services: Services, caller: Caller): Resources {
  return {
    list: async () => [
      {
        uri: IAC_LOG,
        name: 'iac-log',
        title: 'Inter-agent log',
        description: 'Every start and end of a run in this workspace.',
        mimeType: MARKDOWN,
      },
      {
        uri: CONTEXT,
        name: 'context',
        title: 'Agents',
        description: 'Running agents of this workspace, and what was done last.',
        mimeType: MARKDOWN,
      },
    ],
    templates: async () => [
      {
        uriTemplate: `${RUN}{id}`,
        name: 'run',
        title: 'Run',
        description: 'Status and result of a run, like get_result. Updated when the run ends.',
        mimeType: JSON_TYPE,
      },
    ],
    async read(uri) {
      if (uri === IAC_LOG || uri === CONTEXT) {
        const text = await teamFile(services, caller, uri === IAC_LOG ? 'IAC.md' : 'CONTEXT.md');
        return { contents: [{ uri, mimeType: MARKDOWN, text }] };
      }
      if (!uri.startsWith(RUN)) return null;
      const result = await resultOf(services, uri.slice(RUN.length));
      return result && { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(result) }] };
    },
  };
}

async function teamFile(
  { workspaces }: Services,
  caller: Caller,
  name: 'IAC.md' | 'CONTEXT.md',
): Promise<string> {
  const workspace = await workspaces.open(caller);
  return (await workspace.teamFile(name)) ?? emptyTeamFile(name);
}

async function resultOf(services: Services, id: string) {
  if (!RunId.safeParse(id).success) return null;
  try {
    return await runResult(services, await findRun(services, id));
  } catch (thrown) {
    if (thrown instanceof SquadError && thrown.code === 'RUN_UNKNOWN') return null;
    throw thrown;
  }
}
