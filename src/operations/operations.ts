import type { z } from 'zod';
import { nearest } from '../base/text.ts';
import { SquadError } from '../schema/error.ts';
import { getConversation } from './conversations/get-conversation.ts';
import { listConversations } from './conversations/list-conversations.ts';
import { costReport } from './cost/cost-report.ts';
import { diffRun } from './evidence/diff-run.ts';
import { approveTools } from './gateway/approve-tools.ts';
import { readAudit, verifyAudit } from './gateway/audit.ts';
import { inspectGateway, inspectRoleTools } from './gateway/inspect-gateway.ts';
import { hubStatus, openWebUi, stopHub } from './hub/hub.ts';
import { prune } from './hub/prune.ts';
import { answerQuestion } from './inbox/answer-question.ts';
import { askPermission } from './inbox/ask-permission.ts';
import { askUser } from './inbox/ask-user.ts';
import { listInbox } from './inbox/list-inbox.ts';
import { findOverlap } from './integration/find-overlap.ts';
import { integrate, planIntegration } from './integration/integrate.ts';
import type { Operation } from './operation.ts';
import { exportRun } from './output/export-run.ts';
import { locateOutput, readOutput } from './output/read-output.ts';
import { searchEverything } from './output/search-everything.ts';
import { searchOutput } from './output/search-output.ts';
import { commentOnRun } from './review/comment-on-run.ts';
import { createIssues, createPullRequest } from './review/create-pull-request.ts';
import { diffReview } from './review/diff-review.ts';
import { requestReview } from './review/request-review.ts';
import { sendFeedback } from './review/send-feedback.ts';
import { listReviews, showReview } from './review/show-review.ts';
import { steerReview } from './review/steer-review.ts';
import { listRoles } from './roles/list-roles.ts';
import { previewContext } from './roles/preview-context.ts';
import { cancelRun } from './runs/cancel-run.ts';
import { followEvents, listEvents } from './runs/events.ts';
import { findRuns } from './runs/find-runs.ts';
import { getResult } from './runs/get-result.ts';
import { listBoard } from './runs/list-board.ts';
import { listRunning, listRuns } from './runs/list-runs.ts';
import { openSession, openTerminal } from './runs/open-session.ts';
import { replyToRun } from './runs/reply-to-run.ts';
import { retryRuns } from './runs/retry-runs.ts';
import { runActions } from './runs/run-actions.ts';
import { showRun } from './runs/show-run.ts';
import { showSquad } from './runs/show-squad.ts';
import { spawnAgent, spawnClaude, spawnCodex } from './runs/spawn.ts';
import { spawnParallel } from './runs/spawn-parallel.ts';
import { squadStatus } from './runs/squad-status.ts';
import { startSquad } from './runs/start-squad.ts';
import { startSquadMembers } from './runs/start-squad-members.ts';
import { takeOver } from './runs/take-over.ts';
import { waitForRuns } from './runs/wait-for-runs.ts';
import { changeSetting } from './settings/change-setting.ts';
import { inspectEngines } from './settings/inspect-engines.ts';
import { inspectWorkspace } from './settings/inspect-workspace.ts';
import { listWorkspaces } from './settings/list-workspaces.ts';
import { changeTrust } from './settings/trust.ts';
import { inspectSubagentTools } from './subagents/inspect-subagent-tools.ts';
import { editBacklog, listBacklog } from './team/backlog.ts';
import { decisionSearch, listDecisions } from './team/decisions.ts';
import { readTeam } from './team/read-team.ts';
import { decisionRecord } from './team/record-decision.ts';
import { listWorktrees } from './worktrees/list-worktrees.ts';
import { pruneWorktrees } from './worktrees/prune-worktrees.ts';

/** Every operation of Squad. MCP tools, REST routes, terminal commands and the types of their callers are derived from this list. */
export const OPERATIONS = [
  listRoles,
  startSquadMembers,
  spawnClaude,
  spawnCodex,
  spawnAgent,
  spawnParallel,
  getResult,
  listRunning,
  cancelRun,
  answerQuestion,
  squadStatus,
  decisionSearch,
  decisionRecord,
  askUser,
  askPermission,
  requestReview,
  sendFeedback,
  createPullRequest,
  createIssues,
  startSquad,
  replyToRun,
  retryRuns,
  listBoard,
  listRuns,
  showRun,
  runActions,
  commentOnRun,
  showSquad,
  listEvents,
  costReport,
  listWorkspaces,
  findRuns,
  waitForRuns,
  listInbox,
  listReviews,
  showReview,
  steerReview,
  diffReview,
  diffRun,
  exportRun,
  listConversations,
  getConversation,
  findOverlap,
  planIntegration,
  integrate,
  readOutput,
  locateOutput,
  searchOutput,
  searchEverything,
  openSession,
  openTerminal,
  takeOver,
  followEvents,
  inspectWorkspace,
  inspectEngines,
  inspectGateway,
  inspectRoleTools,
  inspectSubagentTools,
  approveTools,
  previewContext,
  listDecisions,
  listBacklog,
  editBacklog,
  readTeam,
  changeSetting,
  changeTrust,
  prune,
  listWorktrees,
  pruneWorktrees,
  readAudit,
  verifyAudit,
  openWebUi,
  hubStatus,
  stopHub,
] as const satisfies readonly Operation[];

type Listed = (typeof OPERATIONS)[number];
type Operations = { [O in Listed as O['name']]: O };
export type OperationName = keyof Operations;
export type Input<N extends OperationName> = z.input<Operations[N]['input']>;
export type Output<N extends OperationName> = z.output<Operations[N]['output']>;
/** Operations that the REST API has. */
export type RoutedName = {
  [N in OperationName]: Operations[N]['route'] extends null ? never : N;
}[OperationName];

export function operationNamed(name: string): Operation {
  const found: Operation | undefined = OPERATIONS.find(operation => operation.name === name);
  if (found) return found;
  const near = nearest(
    name,
    OPERATIONS.map(operation => operation.name),
  );
  throw new SquadError('UNKNOWN_OPERATION', `There is no operation ${name}`, {
    suggestions: near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : [],
  });
}
