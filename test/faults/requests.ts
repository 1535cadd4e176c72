import { setTimeout as delay } from 'node:timers/promises';
import type { SquadResult } from '../../src/operations/runs/run-result.ts';
import { isEnd, type Run } from '../../src/schema/run.ts';
import type { HubLink } from './hub-link.ts';
import type { McpLine } from './mcp-line.ts';
import type { RoundPlan } from './round-plan.ts';

export interface Clients {
  link: HubLink;
  stateful: HubLink;
  /** Null when the first squad is asked for on the socket, too. */
  mcp: McpLine | null;
  workspace: string;
}

/** Answer to a request for a squad: the ids of its runs or null, and a problem of the answer itself. */
export interface Answer {
  promised: string[] | null;
  /** There are more ids than these. */
  isCut?: boolean;
  problem?: string;
}

/** Asks for both squads, by the faces of the plan. */
export function submit({ link, stateful, mcp, workspace }: Clients, plan: RoundPlan): Promise<Answer>[] {
  const [plain, chats] = plan.squads.map(({ name, members }) => ({
    members: members.map(({ roleId, task, sandbox, kind }) => ({
      ...{ roleId, task, sandbox },
      // Without a work tree, a run on a box needs a folder there. The box of a test has the same files.
      ...(plan.boxFaults.length > 0 && kind !== 'commits' && { cwd: workspace }),
    })),
    metadata: { name },
  }));
  const onSocket = (to: HubLink, input: object): Promise<Answer> =>
    to.call<SquadResult>('start_squad_members', input, { waitMs: 0 }).then(
      result => ({ promised: result.members.map(({ memberId }) => memberId) }),
      error => ({ promised: null, problem: error.code && `the hub refused a squad: ${error.message}` }),
    );
  return [
    mcp ? overMcp(mcp, plain!) : onSocket(link, plain!),
    delay(plan.secondSquadAfterMs).then(() => onSocket(stateful, chats!)),
  ];
}

/** A client that waits gets the error that the hub restarted, unless everything was over before. */
async function overMcp(mcp: McpLine, input: object): Promise<Answer> {
  const { result, error } = await mcp.tool('start_squad_members', input);
  if (error?.data?.code === 'HUB_RESTARTED') return { promised: null };
  if (error || result?.isError)
    return {
      promised: null,
      problem: `the MCP client got: ${error?.message ?? JSON.stringify(result)}`,
    };
  const { members, nextOffset } = result!.structuredContent as unknown as SquadResult;
  // A full answer has only the first members.
  return { promised: members.map(({ memberId }) => memberId), isCut: nextOffset !== undefined };
}

/** Asks for every cancel of the plan whose run is known by now. What the answers say is put into `told`. */
export async function cancel(link: HubLink, plan: RoundPlan, told: Map<string, string>): Promise<void> {
  const wanted = plan.squads.flatMap(({ members }) => members.filter(member => member.isCancelled));
  try {
    const runs = await runsOf(link, plan);
    await Promise.all(
      wanted.map(async ({ tag }) => {
        const run = runs.find(({ task }) => tagOf(task) === tag);
        if (!run || isEnd(run.status)) return;
        const { runs: answer } = await link.call<{ runs: { status: string }[] }>('cancel_run', {
          spawn_id: run.id,
        });
        told.set(tag, answer[0]!.status);
      }),
    );
  } catch {} // the hub died over it, which is what it is there for
}

export const tagOf = (task: string): string => task.split(/\s/, 1)[0]!;

/** The runs of this round, as the hub lists them. */
export async function runsOf(link: HubLink, plan: RoundPlan): Promise<Run[]> {
  const { runs } = await link.call<{ runs: Run[] }>('list_runs', { limit: 1000 });
  return runs.filter(({ task }) => tagOf(task).startsWith(`r${plan.round}m`));
}
