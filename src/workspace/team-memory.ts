import type { TeamMemory } from '../core/ports/team.ts';
import { readBacklog } from '../core/team/backlog.ts';
import { readHistory } from '../core/team/history.ts';
import { readRoster } from '../core/team/roster.ts';
import { SquadError } from '../schema/error.ts';
import { recordDecision } from './record-decision.ts';
import { agentNamed, agentsIn } from './team-agents.ts';
import { decisionsIn, type KeptDecisions } from './team-decisions.ts';
import { teamFolder } from './team-file.ts';
import { readTeamText } from './team-text.ts';

const LARGEST = 2 * 1024 * 1024;
/** Decisions are the one thing that is asked for often and costs something to read. */
const MOST_KEPT = 16;

const NO_FOLDER = 'There is no .squad folder in this workspace. `squad init` lays one down.';

/** What the teams of workspaces know, by the root of each. */
export function createTeamMemories(): (root: string) => TeamMemory {
  const kept = new Map<string, KeptDecisions>();
  const keep = (root: string, decisions: KeptDecisions) => {
    kept.delete(root);
    kept.set(root, decisions);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
    return decisions;
  };
  return root => ({
    roster: async () => {
      const read = await readNamed(root, 'team.md');
      return 'text' in read ? readRoster(read.text) : { members: [], notes: [read.note] };
    },
    backlog: async () => {
      const read = await readNamed(root, 'backlog.md');
      return 'text' in read ? readBacklog(read.text) : { groups: [], notes: [read.note] };
    },
    decisions: async () => {
      const { folder, note } = await folderOf(root);
      if (folder === null) return { decisions: [], notes: [note], revision: 'none' };
      return keep(root, await decisionsIn(folder, kept.get(root) ?? null));
    },
    agents: async () => {
      const { folder } = await folderOf(root);
      const found = folder === null ? [] : await agentsIn(folder);
      return found.map(({ name, hasCharter, hasHistory }) => ({ name, hasCharter, hasHistory }));
    },
    charter: name => ofAgent(root, name, 'charter'),
    history: async name => {
      const text = await ofAgent(root, name, 'history');
      return text === null ? null : readHistory(text);
    },
    record: async (decision, at) => {
      const { folder, note } = await folderOf(root);
      if (folder === null)
        throw new SquadError('TEAM_MISSING', `The decision cannot be recorded in ${root}: ${note}`, {
          suggestions: ['The folder .squad in the workspace is where decisions are kept.'],
        });
      return recordDecision(folder, decision, at);
    },
  });
}

async function folderOf(root: string): Promise<{ folder: string | null; note: string }> {
  try {
    return { folder: await teamFolder(root), note: NO_FOLDER };
  } catch (thrown) {
    return { folder: null, note: `${(thrown as Error).message}; it is not read.` };
  }
}

async function readNamed(root: string, name: string): Promise<{ text: string } | { note: string }> {
  const { folder, note } = await folderOf(root);
  if (folder === null) return { note };
  const read = await readTeamText(folder, name, LARGEST);
  if ('text' in read) return read;
  return { note: 'fault' in read ? `.squad/${name} ${read.fault}` : `There is no .squad/${name} yet.` };
}

async function ofAgent(root: string, name: string, what: 'charter' | 'history'): Promise<string | null> {
  const { folder } = await folderOf(root);
  const agent = folder === null ? null : agentNamed(await agentsIn(folder), name);
  const path = agent?.[what];
  if (!folder || !path) return null;
  const read = await readTeamText(folder, path, LARGEST);
  return 'text' in read ? read.text : null;
}
