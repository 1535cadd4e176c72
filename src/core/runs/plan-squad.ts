import { asSquadError, SquadError } from '../../schema/error.ts';
import { newSquadId } from '../../schema/ids.ts';
import type { Squad } from '../../schema/run.ts';
import { isSubagentRequest, planSubagent } from '../subagents/plan-subagent.ts';
import { checkTask, checkText, truncate } from '../text.ts';
import { chatBusy, type PlanContext, type PlannedRun, type PlannedSquad, planRun } from './plan-run.ts';
import type { RunRequest, SquadRequest } from './run-request.ts';

/**
 * Plans all members and reports every error before anything is written or started: one bad role, folder or template
 * refuses the whole call.
 */
export async function planSquad(request: SquadRequest, context: PlanContext): Promise<PlannedSquad> {
  const { workspace, caller, clock } = context;
  const squad: Squad = {
    id: newSquadId(),
    workspace: workspace.root,
    client: caller.client,
    metadata: request.metadata ?? null,
    createdAt: clock.now(),
  };
  const members = request.members.length;
  const plan = async (member: RunRequest, position: number): Promise<PlannedRun> => {
    checkTask(member.task);
    checkText(member.chatId ?? '', 'The chatId');
    const membership = { squad, position, members };
    return isSubagentRequest(member)
      ? planSubagent(member, membership, context)
      : planRun(member, membership, context);
  };
  const runs = await Promise.all(
    request.members.map((member, position) =>
      plan(member, position).catch(thrown => {
        throw inMember(thrown, member, position, members);
      }),
    ),
  );
  refuseSharedChats(runs);
  return { squad, runs };
}

function refuseSharedChats(runs: PlannedRun[]): void {
  const seen = new Set<string>();
  for (const { run } of runs) {
    if (run.chatId === null) continue;
    if (seen.has(run.chatId)) throw chatBusy(run.chatId, 'another member of this call');
    seen.add(run.chatId);
  }
}

function inMember(thrown: unknown, { roleId, form }: RunRequest, position: number, of: number): SquadError {
  const error = asSquadError(thrown);
  if (of === 1) return error;
  const role = roleId === undefined ? '' : ` (${truncate(roleId, 80)})`;
  const list = form === 'spawn' ? 'agents' : 'members';
  return new SquadError(error.code, `${list}[${position}]${role}: ${error.message}`, {
    suggestions: [...error.suggestions, 'Nothing was started.'],
    cause: error,
  });
}
