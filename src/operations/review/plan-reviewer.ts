import type { PlannedReview } from '../../core/review/ports.ts';
import { reviewerRole } from '../../core/review/reviewer-role.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import type { Call } from '../operation.ts';
import { planRuns } from '../runs/start-runs.ts';

/**
 * Plans a reviewer like any run; `caller` is the reviewed run. Without an engine in its role it gets the coder's, which may have been
 * chosen for that run only, but not the coder's model.
 */
export async function planReviewer(
  call: Pick<Call, 'services' | 'caller'>,
  coder: Run,
  task: string,
): Promise<PlannedReview> {
  const workspace = await call.services.workspaces.open(call.caller);
  const roles = await workspace.roles();
  const { roleId, note } = reviewerRole(roles, workspace.config.review.value.role);
  const role = roles.find(({ id }) => id === roleId);
  const namesEngine = role?.meta.engine !== undefined || role?.ungranted.includes('engine');
  const coderPlan = namesEngine ? null : await loadPlan(call.services.files, coder);
  const plan = await planRuns(
    call,
    {
      members: [
        {
          ...{ roleId, task, cwd: coder.cwd, lineageId: coder.lineageId, reviewOf: coder.id },
          ...(coderPlan && { spec: coderPlan.spec }),
          ...(coder.worktree && { forkOf: coder.worktree }),
          title: `Review: ${runSummary(coder)}`,
        },
      ],
      metadata: { reviewOf: coder.id },
    },
    workspace,
  );
  return { plan, notes: [...(note === null ? [] : [note]), ...plan.warnings] };
}
