import type { PlannedReview } from '../core/review/ports.ts';
import { reviewerRole } from '../core/review/reviewer-role.ts';
import type { Run } from '../schema/run.ts';
import type { Call } from './operation.ts';
import { planRuns } from './start-members.ts';

/** A reviewer as every run is planned, asked for by the run it reviews: `caller` is that run. */
export async function planReviewer(
  call: Pick<Call, 'services' | 'caller'>,
  coder: Run,
  task: string,
): Promise<PlannedReview> {
  const workspace = await call.services.workspaces.open(call.caller);
  const { roleId, note } = reviewerRole(await workspace.roles(), workspace.config.review.value.role);
  const plan = await planRuns(
    call,
    {
      members: [
        {
          ...{ roleId, task, cwd: coder.cwd, lineageId: coder.lineageId, reviewOf: coder.id },
          ...(coder.worktree && { forkOf: coder.worktree }),
          title: `Review of ${coder.id}`,
        },
      ],
      metadata: { reviewOf: coder.id },
    },
    workspace,
  );
  return { plan, notes: [...(note === null ? [] : [note]), ...plan.warnings] };
}
