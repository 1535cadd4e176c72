import { expect, test } from 'vitest';
import { allowed, type RunSubject } from '../core/policy.ts';
import { newRunId, newSquadId } from '../schema/ids.ts';
import { AgentType } from '../schema/review.ts';
import { NO_SANDBOX } from '../schema/sandbox.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const agent: RunSubject = {
  kind: 'run',
  id: newRunId(),
  squadId: newSquadId(),
  depth: 0,
  type: 'coding',
  reviewOf: null,
  lineageId: null,
  ...{ parentId: null, messages: ['client'] },
  isProven: true,
  spawn: true,
  worktree: null,
  records: true,
  permission: 'full',
  sandbox: NO_SANDBOX,
  tools: null,
  isLive: true,
};

/** Operations that no role can grant. Add a new operation to this list or to the policy, on purpose. */
const FOR_THE_USER = [
  'add_machine',
  'adopt_chat',
  'approve_tools',
  'change_setting',
  'change_trust',
  'changed_image',
  'check_machine',
  'comment_on_run',
  'continue_thread',
  'cost_report',
  'diff_review',
  'drain_machine',
  'edit_backlog',
  'export_run',
  'find_overlap',
  'get_conversation',
  'hub_status',
  'inspect_cluster',
  'inspect_gateway',
  'inspect_role_tools',
  'inspect_subagent_tools',
  'integrate',
  'interrupt_run',
  'list_board',
  'list_chats',
  'list_columns',
  'list_conversations',
  'list_events',
  'list_machines',
  'list_reviews',
  'list_threads',
  'list_workspaces',
  'list_worktrees',
  'open_page',
  'open_session',
  'open_terminal',
  'plan_integration',
  'prune',
  'prune_worktrees',
  'read_audit',
  'read_steps',
  'remove_machine',
  'run_actions',
  'search_everything',
  'show_check',
  'show_review',
  'show_squad',
  'show_squad_request',
  'show_thread',
  'start_demo',
  'steer_review',
  'stop_hub',
  'take_over',
  'verify_audit',
];

test('every operation is either for agents of some type that have all there is to grant or for the user alone', () => {
  const agents = AgentType.options.map(type => ({ ...agent, type, approvals: true as const }));
  const denied = OPERATIONS.filter(operation => !agents.some(each => allowed(each, operation)));
  expect(denied.map(({ name }) => name).sort()).toEqual(FOR_THE_USER);
});

test('a tool is for agents alone exactly where the user may not use it', () => {
  const all: readonly Operation[] = OPERATIONS;
  const names = all.filter(({ tool }) => tool?.forAgents).map(({ name }) => name);
  const denied = all.filter(operation => !allowed({ kind: 'user' }, operation));
  expect(denied.map(({ name }) => name)).toEqual(names);
  expect(names).toContain('request_review');
});
