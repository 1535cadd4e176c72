import type { RunCard } from '../../src/schema/run-card.ts';

/** Card of a running run. `different` overrides its fields. */
export function sampleCard(different: { id: string } & Partial<Omit<RunCard, 'id'>>): RunCard {
  const id = different.id as RunCard['id'];
  return {
    squadId: 'squad_0000000000' as RunCard['squadId'],
    parentId: null,
    reviewOf: null,
    lineageId: id,
    roleId: 'coder',
    subagent: null,
    engine: 'scripted',
    model: null,
    title: 'A task',
    workspace: '/project',
    branch: null,
    branchState: null,
    sandbox: 'off',
    machine: null,
    hub: null,
    limitedUntil: null,
    status: 'running',
    need: 'running',
    asks: 0,
    asking: null,
    quiet: null,
    isStopping: false,
    error: null,
    activity: null,
    turn: 1,
    usage: null,
    lines: null,
    verdict: null,
    createdAt: 0,
    startedAt: 0,
    endedAt: null,
    ...different,
    id,
  };
}
