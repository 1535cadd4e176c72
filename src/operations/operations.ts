import type { z } from 'zod';
import { didYouMean } from '../core/text.ts';
import { SquadError } from '../schema/error.ts';
import { getConversation, listConversations } from './conversations/conversations.ts';
import { costReport } from './cost/cost-report.ts';
import { changedImage } from './evidence/changed-image.ts';
import { diffRun } from './evidence/diff-run.ts';
import { approveTools } from './gateway/approve-tools.ts';
import {
  inspectGateway,
  inspectRoleTools,
  inspectSubagentTools,
  readAudit,
  verifyAudit,
} from './gateway/inspect-gateway.ts';
import { inspectCluster } from './hub/cluster.ts';
import { hubStatus, openWebUi, stopHub } from './hub/hub.ts';
import { prune } from './hub/prune.ts';
import { askPermission, askUser } from './inbox/ask-user.ts';
import { answerQuestion, listInbox } from './inbox/inbox.ts';
import { findOverlap, integrate, planIntegration, showCheck } from './integration/integrate.ts';
import { addMachine, checkMachine, drainMachine, listMachines, removeMachine } from './machines/machines.ts';
import type { Operation } from './operation.ts';
import { exportRun } from './output/export-run.ts';
import { locateOutput, readOutput, searchOutput } from './output/read-output.ts';
import { searchEverything } from './output/search-everything.ts';
import { createIssues, createPullRequest, requestReview, sendFeedback } from './review/review-tools.ts';
import { diffReview, listReviews, showReview } from './review/show-review.ts';
import { commentOnRun, steerReview } from './review/steer-review.ts';
import { listRoles, previewContext } from './roles/roles.ts';
import { adoptChat, listChats } from './runs/adopt-chat.ts';
import { cancelRun } from './runs/cancel-run.ts';
import { followEvents, listEvents } from './runs/events.ts';
import { findRuns } from './runs/find-runs.ts';
import { getResult } from './runs/get-result.ts';
import { listBoard } from './runs/list-board.ts';
import { listColumns } from './runs/list-columns.ts';
import { listRunning, listRuns } from './runs/list-runs.ts';
import { replyToRun } from './runs/reply-to-run.ts';
import { retryRuns, showSquadRequest } from './runs/retry-runs.ts';
import { runActions } from './runs/run-actions.ts';
import { showRun } from './runs/show-run.ts';
import { showSquad } from './runs/show-squad.ts';
import { spawnAgent, spawnClaude, spawnCodex } from './runs/spawn.ts';
import { spawnParallel } from './runs/spawn-parallel.ts';
import { squadStatus } from './runs/squad-status.ts';
import { startSquad, startSquadMembers } from './runs/start-squad.ts';
import { openSession, openTerminal, takeOver } from './runs/take-over.ts';
import { interruptRun, sendMessage } from './runs/tell-run.ts';
import { continueThread, listThreads, readSteps, showThread } from './runs/threads.ts';
import { waitForRuns } from './runs/wait.ts';
import { changeSetting, changeTrust } from './settings/change-setting.ts';
import { inspectEngines, inspectWorkspace, listWorkspaces } from './settings/inspect-workspace.ts';
import { startDemo } from './setup/demo.ts';
import { editBacklog, listBacklog } from './team/backlog.ts';
import { decisionRecord, decisionSearch, listDecisions } from './team/decisions.ts';
import { readTeam } from './team/team-members.ts';
import { listWorktrees, pruneWorktrees } from './worktrees/worktrees.ts';

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
  startDemo,
  replyToRun,
  listChats,
  adoptChat,
  sendMessage,
  interruptRun,
  continueThread,
  listThreads,
  readSteps,
  showThread,
  retryRuns,
  listBoard,
  listColumns,
  listRuns,
  showRun,
  runActions,
  commentOnRun,
  showSquad,
  showSquadRequest,
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
  changedImage,
  exportRun,
  listConversations,
  getConversation,
  findOverlap,
  planIntegration,
  showCheck,
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
  listMachines,
  addMachine,
  checkMachine,
  drainMachine,
  removeMachine,
  pruneWorktrees,
  readAudit,
  verifyAudit,
  openWebUi,
  hubStatus,
  inspectCluster,
  stopHub,
] as const satisfies readonly Operation[];

type Listed = (typeof OPERATIONS)[number];
type Operations = { [O in Listed as O['name']]: O };
export type OperationName = keyof Operations;
export type Input<N extends OperationName> = z.input<Operations[N]['input']>;
export type Output<N extends OperationName> = z.output<Operations[N]['output']>;
/** Names of operations that have a route in the REST API. */
export type RoutedName = {
  [N in OperationName]: Operations[N]['route'] extends null ? never : N;
}[OperationName];

export function operationNamed(name: string): Operation {
  const found: Operation | undefined = OPERATIONS.find(operation => operation.name === name);
  if (found) return found;
  const meant = didYouMean(
    name,
    OPERATIONS.map(operation => operation.name),
  );
  throw new SquadError('UNKNOWN_OPERATION', `There is no operation ${name}`, {
    suggestions: meant === null ? [] : [meant],
  });
}
