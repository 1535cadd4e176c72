import { expect, test } from 'vitest';
import { allowed, type RunSubject } from '../core/policy.ts';
import { newRunId, newSquadId } from '../schema/ids.ts';
import { OPERATIONS } from './table.ts';

const agent: RunSubject = {
  kind: 'run',
  id: newRunId(),
  squadId: newSquadId(),
  depth: 0,
  spawn: true,
  worktree: null,
  records: true,
  permission: 'full',
  tools: null,
  isLive: true,
};

/** What no role can grant. An operation that is new belongs into this list, or into the policy's: on purpose. */
const FOR_THE_USER = [
  'approve_tools',
  'change_setting',
  'change_trust',
  'hub_status',
  'inspect_gateway',
  'inspect_role_tools',
  'prune',
  'read_audit',
  'stop_hub',
  'verify_audit',
];

test('every operation is either for agents that may start runs or for the user alone', () => {
  const denied = OPERATIONS.map(({ name }) => name).filter(name => !allowed(agent, name));
  expect(denied.sort()).toEqual(FOR_THE_USER);
});
