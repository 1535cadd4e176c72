/**
 * All errors of Squad, by code: the exit code of the CLI, and the kind for tools and routes. usage: the request is
 * wrong. state: the request is not possible now. external: the machine or another program refused. database: the store
 * failed. internal: a bug in Squad.
 */
const ERRORS = {
  INVALID_INPUT: { kind: 'usage', exit: 2 },
  INVALID_TEXT: { kind: 'usage', exit: 2 },
  ANSWER_NEEDED: { kind: 'usage', exit: 3 },
  TASK_EMPTY: { kind: 'usage', exit: 2 },
  ROLE_UNKNOWN: { kind: 'usage', exit: 2 },
  ROLE_INVALID: { kind: 'usage', exit: 2 },
  ROLES_MISSING: { kind: 'usage', exit: 2 },
  CWD_MISSING: { kind: 'usage', exit: 2 },
  CWD_NOT_A_FOLDER: { kind: 'usage', exit: 2 },
  CWD_OUTSIDE_WORKSPACE: { kind: 'usage', exit: 2 },
  WORKSPACE_UNSET: { kind: 'usage', exit: 2 },
  WORKSPACE_REFUSED: { kind: 'usage', exit: 2 },
  CONFIG_INVALID: { kind: 'usage', exit: 2 },
  TEMPLATE_MISSING: { kind: 'usage', exit: 2 },
  TEMPLATE_INVALID: { kind: 'usage', exit: 2 },
  ARGUMENT_TOO_LONG: { kind: 'usage', exit: 2 },
  ARGUMENT_LOOKS_LIKE_FLAG: { kind: 'usage', exit: 2 },
  ENGINE_NOT_SET: { kind: 'usage', exit: 2 },
  ENGINE_UNKNOWN: { kind: 'usage', exit: 2 },
  ENGINE_NOT_TRUSTED: { kind: 'usage', exit: 2 },
  ENGINE_NOT_FOUND: { kind: 'external', exit: 2 },
  ENGINE_NOT_EXECUTABLE: { kind: 'external', exit: 2 },
  ENGINE_TOO_OLD: { kind: 'external', exit: 2 },
  SCRIPT_INVALID: { kind: 'usage', exit: 2 },
  RUN_UNKNOWN: { kind: 'usage', exit: 2 },
  SQUAD_UNKNOWN: { kind: 'usage', exit: 2 },
  RUN_ELSEWHERE: { kind: 'state', exit: 2 },
  RUN_NOT_OVER: { kind: 'state', exit: 2 },
  RUN_OVER: { kind: 'state', exit: 2 },
  CHAT_BUSY: { kind: 'state', exit: 2 },
  CHAT_UNKNOWN: { kind: 'usage', exit: 2 },
  CHAT_FAILED: { kind: 'external', exit: 1 },
  DEPTH_LIMIT: { kind: 'state', exit: 4 },
  SPAWN_RATE_LIMIT: { kind: 'state', exit: 4 },
  SPAWN_FAILED: { kind: 'external', exit: 1 },
  ENGINE_FAILED: { kind: 'external', exit: 1 },
  ENGINE_NOT_LOGGED_IN: { kind: 'external', exit: 1 },
  ENGINE_RATE_LIMITED: { kind: 'external', exit: 1 },
  BUDGET_EXCEEDED: { kind: 'state', exit: 4 },
  STALLED: { kind: 'external', exit: 1 },
  TIMEOUT: { kind: 'state', exit: 1 },
  CANCELLED: { kind: 'state', exit: 1 },
  SCHEMA_INVALID: { kind: 'usage', exit: 2 },
  TURN_LIMIT: { kind: 'state', exit: 4 },
  INPUT_UNREADABLE: { kind: 'usage', exit: 2 },
  SANDBOX_MISSING: { kind: 'external', exit: 2 },
  SANDBOX_UNAVAILABLE: { kind: 'external', exit: 2 },
  MODEL_NOT_SET: { kind: 'usage', exit: 2 },
  API_KEY_MISSING: { kind: 'usage', exit: 2 },
  OUTPUT_MISMATCH: { kind: 'external', exit: 1 },
  CONTEXT_MISSING: { kind: 'usage', exit: 2 },
  TEAM_MISSING: { kind: 'usage', exit: 2 },
  DECISION_UNKNOWN: { kind: 'usage', exit: 2 },
  BACKLOG_ITEM_UNKNOWN: { kind: 'usage', exit: 2 },
  BACKLOG_CHANGED: { kind: 'state', exit: 1 },
  BACKLOG_ITEM_STARTED: { kind: 'state', exit: 2 },
  AGENT_UNKNOWN: { kind: 'usage', exit: 2 },
  NOT_ALLOWED: { kind: 'state', exit: 4 },
  NOT_A_REPOSITORY: { kind: 'usage', exit: 2 },
  REPOSITORY_UNSUITABLE: { kind: 'usage', exit: 2 },
  BRANCH_EXISTS: { kind: 'state', exit: 2 },
  BRANCH_MOVED: { kind: 'state', exit: 1 },
  WORKTREE_NEEDED: { kind: 'state', exit: 2 },
  WORKTREE_MISSING: { kind: 'state', exit: 1 },
  WORKTREE_IN_USE: { kind: 'state', exit: 2 },
  MACHINE_UNKNOWN: { kind: 'usage', exit: 2 },
  MACHINE_DRAINING: { kind: 'state', exit: 2 },
  MACHINE_IN_USE: { kind: 'state', exit: 2 },
  MACHINE_UNREACHABLE: { kind: 'external', exit: 1 },
  MACHINE_UNSUITABLE: { kind: 'external', exit: 1 },
  SETUP_FAILED: { kind: 'external', exit: 1 },
  GIT_FAILED: { kind: 'external', exit: 1 },
  GIT_BUSY: { kind: 'state', exit: 1 },
  UNCOMMITTABLE: { kind: 'state', exit: 1 },
  INBOX_UNKNOWN: { kind: 'usage', exit: 2 },
  INBOX_FULL: { kind: 'state', exit: 4 },
  MESSAGE_LIMIT: { kind: 'state', exit: 4 },
  ALREADY_ANSWERED: { kind: 'state', exit: 2 },
  ANSWER_INVALID: { kind: 'usage', exit: 2 },
  REVIEW_LIMIT_EXCEEDED: { kind: 'state', exit: 4 },
  REVIEW_OPEN: { kind: 'state', exit: 2 },
  REVIEW_OVER: { kind: 'state', exit: 2 },
  REVIEW_UNKNOWN: { kind: 'usage', exit: 2 },
  REVIEW_OUTDATED: { kind: 'state', exit: 2 },
  FEEDBACK_FAILED: { kind: 'external', exit: 1 },
  NOTHING_TO_PROPOSE: { kind: 'state', exit: 2 },
  REMOTE_MISSING: { kind: 'state', exit: 2 },
  PUSH_REJECTED: { kind: 'external', exit: 1 },
  GITHUB_TOKEN_MISSING: { kind: 'usage', exit: 2 },
  GITHUB_REFUSED: { kind: 'external', exit: 1 },
  GITHUB_RATE_LIMITED: { kind: 'external', exit: 1 },
  GITHUB_UNREACHABLE: { kind: 'external', exit: 1 },
  MERGE_CONFLICT: { kind: 'state', exit: 1 },
  TARGET_BLOCKED: { kind: 'state', exit: 1 },
  PLAN_UNKNOWN: { kind: 'state', exit: 2 },
  TERMINAL_UNAVAILABLE: { kind: 'external', exit: 1 },
  CHECK_FAILED: { kind: 'external', exit: 1 },
  SERVER_UNAVAILABLE: { kind: 'external', exit: 1 },
  AUDIT_UNAVAILABLE: { kind: 'external', exit: 1 },
  OUTPUT_LIMIT: { kind: 'external', exit: 1 },
  DIFF_UNAVAILABLE: { kind: 'external', exit: 1 },
  LOST: { kind: 'external', exit: 1 },
  PERMISSION_DENIED: { kind: 'external', exit: 1 },
  DISK_FULL: { kind: 'external', exit: 1 },
  DISK_FAILED: { kind: 'external', exit: 1 },
  HOME_UNUSABLE: { kind: 'external', exit: 1 },
  HUB_UNREACHABLE: { kind: 'external', exit: 1 },
  HUB_RESTARTED: { kind: 'state', exit: 1 },
  MESSAGE_TOO_LARGE: { kind: 'usage', exit: 2 },
  DATABASE_LOCKED: { kind: 'database', exit: 1 },
  DATABASE_UNREACHABLE: { kind: 'database', exit: 1 },
  DATABASE_CORRUPT: { kind: 'database', exit: 1 },
  DATABASE_TOO_NEW: { kind: 'database', exit: 1 },
  DATABASE_FAILED: { kind: 'database', exit: 1 },
  UNKNOWN_OPERATION: { kind: 'usage', exit: 2 },
  INTERNAL: { kind: 'internal', exit: 1 },
} as const;

export type ErrorCode = keyof typeof ERRORS;
type ErrorKind = (typeof ERRORS)[ErrorCode]['kind'];

export const isErrorCode = (code: unknown): code is ErrorCode => typeof code === 'string' && code in ERRORS;
export const exitCodeOf = (code: ErrorCode): number => ERRORS[code].exit;

export interface ErrorShape {
  code: ErrorCode;
  kind: ErrorKind;
  message: string;
  suggestions?: string[];
  /** Additional data of this kind of error. */
  details?: Readonly<Record<string, unknown>>;
}

/** The message says what happened, `suggestions` what to do next. A failing agent is not an error; it ends its run. */
export class SquadError extends Error {
  readonly code: ErrorCode;
  readonly suggestions: string[];
  readonly details: ErrorShape['details'];

  constructor(
    code: ErrorCode,
    message: string,
    options: Pick<ErrorShape, 'suggestions' | 'details'> & { cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'SquadError';
    this.code = code;
    this.suggestions = options.suggestions ?? [];
    this.details = options.details;
  }

  toShape(): ErrorShape {
    return {
      code: this.code,
      kind: ERRORS[this.code].kind,
      message: this.message,
      ...(this.suggestions.length > 0 && { suggestions: this.suggestions }),
      ...(this.details && { details: this.details }),
    };
  }

  static from(shape: ErrorShape): SquadError {
    return new SquadError(shape.code, shape.message, shape);
  }
}

/** Converts anything thrown into a SquadError. A bug keeps its message, but its stack is never shown. */
export function asSquadError(thrown: unknown): SquadError {
  if (thrown instanceof SquadError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const system = (thrown as { code?: unknown } | null)?.code;
  if (system === 'ENOSPC' || system === 'EDQUOT')
    return new SquadError('DISK_FULL', `The disk is full: ${message}`, {
      cause: thrown,
      suggestions: ['Free some space (`squad prune` removes old runs), then try again. Nothing was lost.'],
    });
  if (system === 'EACCES' || system === 'EPERM' || system === 'EROFS')
    return new SquadError('PERMISSION_DENIED', `The system refused access: ${message}`, {
      cause: thrown,
      suggestions: ['Check the owner and mode of the path named in the message.'],
    });
  if (system === 'EIO')
    return new SquadError('DISK_FAILED', `The disk failed: ${message}`, {
      cause: thrown,
      suggestions: ['Check the disk and the system log, then try again.'],
    });
  // Folders that import nothing from Squad throw plain errors with a code.
  if (isErrorCode(system)) {
    const { suggestions } = thrown as { suggestions?: string[] };
    return new SquadError(system, message, { suggestions, cause: thrown });
  }
  return new SquadError('INTERNAL', `A bug in Squad: ${message}`, {
    cause: thrown,
    suggestions: ['The details are in the hub log (`squad hub log`). Please report it.'],
  });
}

/** An error as the answer of a tool, with the tool's name and, if an agent called it, the agent's run. */
export function toolError(
  error: ErrorShape,
  tool: string,
  instance: string | undefined,
): Record<string, unknown> {
  return { error: { ...error, ...origin(tool, instance) } };
}

/** Like `toolError`, for tools that only agents have: not nested, and with the error's details. */
export function flatError(
  { code, message, suggestions, details }: ErrorShape,
  tool: string,
  instance: string | undefined,
): Record<string, unknown> {
  return {
    ...details,
    ...{ error: code, code, message },
    ...origin(tool, instance),
    ...(suggestions && { suggestions }),
  };
}

const origin = (tool: string, instance: string | undefined) => ({
  tool_name: tool,
  ...(instance !== undefined && { instance_id: instance }),
});
