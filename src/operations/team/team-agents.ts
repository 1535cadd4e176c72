import type { TeamAgent } from '../../core/ports/team.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import type { Member } from '../../core/team/roster.ts';
import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';

/** Somebody of the team: by the roster, by a folder of their own, or by a role that can be given work here. */
export interface Teammate extends TeamAgent {
  member: Member | null;
}

/** Those of the roster first, in its order. */
export async function teammates({ team, roles }: Workspace): Promise<Teammate[]> {
  const [{ members }, agents, known] = await Promise.all([
    team.roster(),
    team.agents(),
    // Roles that cannot be read are told of where roles are listed.
    roles().catch(() => []),
  ]);
  const found = new Map<string, Teammate>();
  const add = (name: string, more: Partial<Teammate>) => {
    const key = name.toLowerCase();
    const before = found.get(key) ?? { name, hasCharter: false, hasHistory: false, member: null };
    if (key !== '') found.set(key, { ...before, ...more });
  };
  for (const member of members) add(member.agent, { member });
  for (const { name, hasCharter, hasHistory } of agents) add(name, { name, hasCharter, hasHistory });
  for (const { id } of known) add(id, {});
  return [...found.values()];
}

/** A role and an agent of the roster are one when their names are. */
export const isRunOf = ({ roleId }: Pick<Run, 'roleId'>, name: string): boolean =>
  roleId !== null && roleId.toLowerCase() === name.toLowerCase();

export interface AtWork {
  running: number;
  queued: number;
}

/** How many runs of this workspace each role has just now. */
export function atWork({ runner }: Pick<Services, 'runner'>, workspace: string): (name: string) => AtWork {
  const live = runner.liveRuns().filter(run => run.workspace === workspace);
  return name => {
    const own = live.filter(run => isRunOf(run, name));
    const queued = own.filter(({ status }) => status === 'queued').length;
    return { running: own.length - queued, queued };
  };
}
