import type { z } from 'zod';
import { nearest } from '../core/nearest.ts';
import { SquadError } from '../schema/error.ts';
import { answerQuestion } from './answer-question.ts';
import { approveTools } from './approve-tools.ts';
import { askPermission } from './ask-permission.ts';
import { askUser } from './ask-user.ts';
import { cancelRun } from './cancel-run.ts';
import { changeSetting } from './change-setting.ts';
import { changeTrust } from './change-trust.ts';
import { commentOnRun } from './comment-on-run.ts';
import { costReport } from './cost-report.ts';
import { createIssues } from './create-issues.ts';
import { createPullRequest } from './create-pull-request.ts';
import { decisionRecord } from './decision-record.ts';
import { decisionSearch } from './decision-search.ts';
import { diffReview } from './diff-review.ts';
import { diffRun } from './diff-run.ts';
import { editBacklog } from './edit-backlog.ts';
import { exportRun } from './export-run.ts';
import { findOverlap } from './find-overlap.ts';
import { findRuns } from './find-runs.ts';
import { followEvents } from './follow-events.ts';
import { getConversation } from './get-conversation.ts';
import { getResult } from './get-result.ts';
import { hubStatus, stopHub } from './hub.ts';
import { inspectEngines } from './inspect-engines.ts';
import { inspectGateway } from './inspect-gateway.ts';
import { inspectRoleTools } from './inspect-role-tools.ts';
import { inspectSubagentTools } from './inspect-subagent-tools.ts';
import { inspectWorkspace } from './inspect-workspace.ts';
import { integrate } from './integrate.ts';
import { listBacklog } from './list-backlog.ts';
import { listBoard } from './list-board.ts';
import { listConversations } from './list-conversations.ts';
import { listDecisions } from './list-decisions.ts';
import { listEvents } from './list-events.ts';
import { listInbox } from './list-inbox.ts';
import { listReviews } from './list-reviews.ts';
import { listRoles } from './list-roles.ts';
import { listRunning } from './list-running.ts';
import { listRuns } from './list-runs.ts';
import { listWorkspaces } from './list-workspaces.ts';
import { listWorktrees } from './list-worktrees.ts';
import { locateOutput } from './locate-output.ts';
import { openPage } from './open-page.ts';
import { openSession } from './open-session.ts';
import { openTerminal } from './open-terminal.ts';
import type { Operation } from './operation.ts';
import { planIntegration } from './plan-integration.ts';
import { previewContext } from './preview-context.ts';
import { prune } from './prune.ts';
import { pruneWorktrees } from './prune-worktrees.ts';
import { readAudit } from './read-audit.ts';
import { readOutput } from './read-output.ts';
import { readTeam } from './read-team.ts';
import { replyToRun } from './reply-to-run.ts';
import { requestReview } from './request-review.ts';
import { retryRuns } from './retry-runs.ts';
import { runActions } from './run-actions.ts';
import { searchEverything } from './search-everything.ts';
import { searchOutput } from './search-output.ts';
import { sendFeedback } from './send-feedback.ts';
import { showReview } from './show-review.ts';
import { showRun } from './show-run.ts';
import { showSquad } from './show-squad.ts';
import { spawnAgent } from './spawn-agent.ts';
import { spawnClaude } from './spawn-claude.ts';
import { spawnCodex } from './spawn-codex.ts';
import { spawnParallel } from './spawn-parallel.ts';
import { squadStatus } from './squad-status.ts';
import { startSquad } from './start-squad.ts';
import { startSquadMembers } from './start-squad-members.ts';
import { steerReview } from './steer-review.ts';
import { takeOver } from './take-over.ts';
import { verifyAudit } from './verify-audit.ts';
import { waitForRuns } from './wait-for-runs.ts';

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
  openPage,
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
