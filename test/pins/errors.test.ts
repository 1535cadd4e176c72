import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { type ErrorCode, exitCodeOf, isErrorCode, SquadError } from '../../src/schema/error.ts';

/** Scripts and clients rely on these: a code may be added, but never changes its kind or its exit code. */
const ERRORS: Record<ErrorCode, [kind: string, exit: number]> = {
  INVALID_INPUT: ['usage', 2],
  INVALID_TEXT: ['usage', 2],
  ANSWER_NEEDED: ['usage', 3],
  TASK_EMPTY: ['usage', 2],
  ROLE_UNKNOWN: ['usage', 2],
  ROLE_INVALID: ['usage', 2],
  ROLES_MISSING: ['usage', 2],
  CWD_MISSING: ['usage', 2],
  CWD_NOT_A_FOLDER: ['usage', 2],
  CWD_OUTSIDE_WORKSPACE: ['usage', 2],
  WORKSPACE_UNSET: ['usage', 2],
  WORKSPACE_REFUSED: ['usage', 2],
  CONFIG_INVALID: ['usage', 2],
  TEMPLATE_MISSING: ['usage', 2],
  TEMPLATE_INVALID: ['usage', 2],
  ARGUMENT_TOO_LONG: ['usage', 2],
  ARGUMENT_LOOKS_LIKE_FLAG: ['usage', 2],
  ENGINE_NOT_SET: ['usage', 2],
  ENGINE_UNKNOWN: ['usage', 2],
  ENGINE_NOT_FOUND: ['external', 2],
  ENGINE_NOT_EXECUTABLE: ['external', 2],
  ENGINE_TOO_OLD: ['external', 2],
  SCRIPT_INVALID: ['usage', 2],
  RUN_UNKNOWN: ['usage', 2],
  SQUAD_UNKNOWN: ['usage', 2],
  RUN_NOT_OVER: ['state', 2],
  CHAT_BUSY: ['state', 2],
  CHAT_UNKNOWN: ['usage', 2],
  CHAT_FAILED: ['external', 1],
  DEPTH_LIMIT: ['state', 4],
  SPAWN_RATE_LIMIT: ['state', 4],
  SPAWN_FAILED: ['external', 1],
  ENGINE_FAILED: ['external', 1],
  ENGINE_NOT_LOGGED_IN: ['external', 1],
  ENGINE_RATE_LIMITED: ['external', 1],
  BUDGET_EXCEEDED: ['state', 4],
  STALLED: ['external', 1],
  SCHEMA_INVALID: ['usage', 2],
  OUTPUT_MISMATCH: ['external', 1],
  CONTEXT_MISSING: ['usage', 2],
  TEAM_MISSING: ['usage', 2],
  DECISION_UNKNOWN: ['usage', 2],
  AGENT_UNKNOWN: ['usage', 2],
  NOT_ALLOWED: ['state', 4],
  DIFF_UNAVAILABLE: ['external', 1],
  AUDIT_UNAVAILABLE: ['external', 1],
  OUTPUT_LIMIT: ['external', 1],
  LOST: ['external', 1],
  PERMISSION_DENIED: ['external', 1],
  DISK_FULL: ['external', 1],
  HOME_UNUSABLE: ['external', 1],
  HUB_UNREACHABLE: ['external', 1],
  HUB_RESTARTED: ['state', 1],
  MESSAGE_TOO_LARGE: ['usage', 2],
  DATABASE_LOCKED: ['database', 1],
  DATABASE_CORRUPT: ['database', 1],
  DATABASE_TOO_NEW: ['database', 1],
  DATABASE_FAILED: ['database', 1],
  UNKNOWN_OPERATION: ['usage', 2],
  INTERNAL: ['internal', 1],
};

// The type above already fails to compile when a code is missing here or is new.
test.each(Object.entries(ERRORS))('%s is %s', (code, [kind, exit]) => {
  if (!isErrorCode(code)) throw new Error(`${code} is gone`);
  expect([new SquadError(code, 'x').toShape().kind, exitCodeOf(code)]).toEqual([kind, exit]);
});

test('exit codes mean what they always meant', () => {
  expect(EXIT).toEqual({
    done: 0,
    failed: 1,
    usage: 2,
    needsInput: 3,
    limit: 4,
    timeUp: 124,
    interrupted: 130,
  });
});
