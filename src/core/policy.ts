import { SquadError } from '../schema/error.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import { AgentType } from '../schema/review.ts';
import { type MessageTarget, Permission } from '../schema/run.ts';
import type { RunSandbox } from '../schema/sandbox.ts';
import type { Worktree } from '../schema/worktree.ts';
import { decide, type ServerGrant, type Thing, type Decision as ThingDecision } from './gateway/grants.ts';

/** A run as the caller of an operation. */
export interface RunIdentity {
  id: RunId;
  squadId: SquadId;
  depth: number;
  /** Part that the run's role plays in a review loop. Null if it has none. */
  type: AgentType | null;
  reviewOf: RunId | null;
  /** The run that started this one. */
  parentId: RunId | null;
  /** The lineage that child runs of this run belong to. Null if each child run starts its own. */
  lineageId: RunId | null;
  /**
   * True if the caller sent the run's token, or if its process is below the run's wrapper. A variable in the
   * environment is no proof, because anybody can set it.
   */
  isProven: boolean;
  /** True if the role allows the run to start other runs. */
  spawn: boolean;
  isSubagent?: true;
  /**
   * True if the caller is an MCP server that only this run uses. It must not use the run's servers, because it would
   * wait for itself.
   */
  isServer?: true;
  /** True if the role allows the engine to ask for permissions. If absent, permissions are refused. */
  approvals?: true;
  /** Whom the role allows the run to send messages to. */
  messages: readonly MessageTarget[];
  /** True if the role allows the run to record decisions of the team. */
  records: boolean;
  permission: Permission;
  /** Sandbox of the run. Runs that it starts are confined at least as much. */
  sandbox: RunSandbox;
  /** Work tree of the run. */
  worktree: Worktree | null;
  /** Machine of the run. Absent for the hub's own. */
  machine?: string;
  /** The only tools that the agent may use. Null for all tools of its engine. */
  tools: readonly string[] | null;
  /** Tools of other servers that the agent may use. If absent, it may use none. */
  grants?: { servers: readonly ServerGrant[]; workspaceRoot: string };
}

/** The caller: the user, through any client, or an agent. */
export type Subject = { kind: 'user' } | RunSubject;
export interface RunSubject extends RunIdentity {
  kind: 'run';
  /** False once the run has ended: processes that it left behind may only ask for their status. */
  isLive: boolean;
}

/** A run that an operation is about. */
export interface Asked {
  /** Ids of the run, its parent, and all further ancestors. */
  line: readonly RunId[];
  squadId: SquadId;
}

/**
 * Condition for a run to call an operation.
 * - `always`: none.
 * - `spawn`: its role may start runs. `lead`: also proof of identity, because the operation is about questions to it.
 * - `subagent`: the run is a call of a subagent.
 * - `record`: its role records decisions. `messages`: its role sends messages.
 * - `proven`: proof of identity alone.
 * - `approvals`: its role has `approvals: ask`.
 * - A type: its role has this type. `typed`: its role has any type.
 */
export type AgentAccess =
  | 'always'
  | 'spawn'
  | 'lead'
  | 'subagent'
  | 'record'
  | 'messages'
  | 'proven'
  | 'approvals'
  | AgentType
  | 'typed';

/** The facts about an operation that policy needs. With `agents` null only the user may call it. */
export interface Action {
  name: string;
  agents: AgentAccess | null;
}

/** The facts about a caller that matter for other servers. */
export type Holder = { kind: 'user' } | Pick<RunSubject, 'kind' | 'isLive' | 'grants'>;

/** Whether a tool, resource or prompt of another server is allowed, and why not. */
export type UseDecision = ThingDecision | { allowed: false; reason: 'ended' };

export type Decision =
  | UseDecision
  /**
   * Only the user may make this call, or the role does not allow it, or the call is about a run that the caller did not
   * start.
   */
  | { allowed: false; reason: 'for_the_user' | 'subagent' | 'spawn' | 'record' | 'messages' | 'not_its_own' }
  /**
   * Only agents may make this call, in some cases only with a certain role type, with `approvals: ask` or with proven
   * identity.
   */
  | { allowed: false; reason: 'for_agents' | 'type' | 'approvals' | 'unproven' };

const ALLOWED = { allowed: true } as const;

/**
 * Decides whether an action is allowed, and why. Lists, calls, commands and lookups all use this function. If the
 * object is a run: whether the subject is that run or one of its ancestors. If the object is a thing of another server:
 * whether the subject may see and use it.
 */
export function decision(subject: Holder, action: 'use', object: Thing): UseDecision;
export function decision(subject: Subject, action: Action, object?: Asked): Decision;
export function decision(
  subject: Holder | Subject,
  action: Action | 'use',
  object?: Asked | Thing,
): Decision {
  const isThing = object !== undefined && 'server' in object;
  if (action === 'use' && isThing) return mayUse(subject, object);
  if (action === 'use' || isThing) return { allowed: false, reason: 'for_the_user' };
  return mayAct(subject as Subject, action, object);
}

export function allowed(subject: Holder, action: 'use', object: Thing): boolean;
export function allowed(subject: Subject, action: Action, object?: Asked): boolean;
export function allowed(subject: Holder | Subject, action: Action | 'use', object?: Asked | Thing): boolean {
  return decision(subject as Subject, action as Action, object as Asked | undefined).allowed;
}

function mayAct(subject: Subject, { name, agents: needs }: Action, object: Asked | undefined): Decision {
  const type = TYPES.find(each => each === needs);
  const isForAgents = type !== undefined || needs === 'proven' || needs === 'approvals';
  if (subject.kind === 'user') return isForAgents ? { allowed: false, reason: 'for_agents' } : ALLOWED;
  if (needs === null) return { allowed: false, reason: 'for_the_user' };
  if (!subject.isLive && name !== 'squad_status') return { allowed: false, reason: 'ended' };
  // A subagent file names programs, and they would be started for an agent that must not start any. Therefore the call
  // is denied.
  if (needs === 'subagent' && !subject.isSubagent) return { allowed: false, reason: 'subagent' };
  if ((needs === 'spawn' || needs === 'lead') && !subject.spawn) return { allowed: false, reason: 'spawn' };
  if (needs === 'approvals' && !subject.approvals) return { allowed: false, reason: 'approvals' };
  // Without this check an agent could answer its own question in the name of the run that started it.
  const needsProof = needs === 'proven' || needs === 'approvals' || needs === 'lead' || needs === 'messages';
  if (needs === 'messages' && subject.messages.length === 0) return { allowed: false, reason: 'messages' };
  if (needsProof && !subject.isProven) return { allowed: false, reason: 'unproven' };
  if (needs === 'messages') return mayMessage(subject, object);
  if (needs === 'record' && !subject.records) return { allowed: false, reason: 'record' };
  if (type) return mayInReview(subject, type, object);
  if (object === undefined || object.line.includes(subject.id)) return ALLOWED;
  // A run may read the status of the other members of its squad, but nothing else about them.
  const isSibling = name === 'squad_status' && object.squadId === subject.squadId;
  return isSibling ? ALLOWED : { allowed: false, reason: 'not_its_own' };
}

/** A run may send messages to the runs that its role names, by their relation to it, and never to itself. */
function mayMessage({ id, parentId, squadId, messages }: RunSubject, object: Asked | undefined): Decision {
  if (object === undefined) return ALLOWED;
  const [to, ...above] = object.line;
  const isSibling = to !== id && (object.squadId === squadId || (parentId !== null && above[0] === parentId));
  const isGranted =
    (messages.includes('lead') && to !== undefined && to === parentId) ||
    (messages.includes('child') && above.includes(id)) ||
    (messages.includes('sibling') && isSibling);
  return isGranted ? ALLOWED : { allowed: false, reason: 'not_its_own' };
}

const TYPES = ['typed', ...AgentType.options] as const;

/** In a review loop a run may only act for itself and the run it reviews; its child runs have their own tools. */
function mayInReview(subject: RunSubject, type: (typeof TYPES)[number], object: Asked | undefined): Decision {
  if (subject.type === null || (type !== 'typed' && type !== subject.type))
    return { allowed: false, reason: 'type' };
  // Without this check the run under review could act as its reviewer.
  if (!subject.isProven) return { allowed: false, reason: 'unproven' };
  const [about] = object?.line ?? [subject.id];
  const isItsOwn = about === subject.id || (about !== undefined && about === subject.reviewOf);
  return isItsOwn ? ALLOWED : { allowed: false, reason: 'not_its_own' };
}

/** Tools that are not approved are hidden from the user's own programs too. */
function mayUse(subject: Holder, thing: Thing): UseDecision {
  if (subject.kind === 'user') return thing.isApproved ? ALLOWED : { allowed: false, reason: 'not_approved' };
  if (!subject.isLive) return { allowed: false, reason: 'ended' };
  if (!subject.grants) return { allowed: false, reason: 'server' };
  return decide(subject.grants.servers, thing, subject.grants);
}

/** The error for a denied call: the reason, and what would have to change. */
export function notAllowed(subject: Subject, operation: Action): SquadError {
  const why = decision(subject, operation);
  const { name: action, agents } = operation;
  const refusal = (message: string, suggestion: string) =>
    new SquadError('NOT_ALLOWED', message, { suggestions: [suggestion] });
  if (subject.kind === 'user')
    return refusal(
      `${action} can only be called by a running agent, about its own run`,
      '`squad review` shows and steers reviews, `squad answer` answers agents; `squad help` has the rest.',
    );
  const { id, type } = subject;
  switch (why.allowed ? null : why.reason) {
    case 'ended':
      return refusal(
        `This process belongs to run ${id}, which has ended: it can no longer call ${action}`,
        'In a terminal of your own, unset SQUAD_RUN_ID and SQUAD_TURN.',
      );
    case 'record':
      return refusal(
        `This runs inside run ${id}, whose role does not let it use ${action}`,
        'It needs `squad/squad_decision_record` among `mcp` in the frontmatter of its role, and a role that came with the repository needs `squad trust`.',
      );
    case 'messages':
      return refusal(
        `This runs inside run ${id}, whose role does not let it use ${action}`,
        'It needs `messages` in the frontmatter of its role, with `sibling`, `child`, `lead` or `client`, and a role that came with the repository needs `squad trust`.',
      );
    case 'type':
      return refusal(
        `This runs inside run ${id}, whose role ${type === null ? 'has no type' : `is of type ${type}`}, so it cannot use ${action}`,
        `It needs ${typesFor(agents)} in the frontmatter of its role, and a role that came with the repository needs \`squad trust\`.`,
      );
    case 'unproven':
      return refusal(
        `SQUAD_RUN_ID names run ${id}, but this process cannot prove that it belongs to that run. Only the run itself may call ${action}`,
        'Use the tools of Squad that your client already has, or start `squad mcp --identity FILE` with the file that Squad gave to this run.',
      );
    case 'approvals':
      return refusal(
        `This runs inside run ${id}, whose role does not let it use ${action}`,
        'It needs `approvals: ask` in the frontmatter of its role, and a role that came with the repository needs `squad trust`.',
      );
    case 'subagent':
      return refusal(
        `This runs inside run ${id}: an agent cannot start a subagent file`,
        'Ask the user to add `squad mcp serve --config FILE` to .squad/mcp-config.json, with `squad mcp add`.',
      );
    case 'spawn':
      return refusal(
        `This runs inside run ${id}, whose role does not let it use ${action}`,
        'It needs `spawn: true` in the frontmatter of its role, and a role that came with the repository needs `squad trust`.',
      );
    default:
      return refusal(
        `This runs inside run ${id}: ${action} is for the user, not for agents`,
        'Ask the user to do it in a terminal of their own.',
      );
  }
}

const typesFor = (agents: AgentAccess | null): string =>
  AgentType.options
    .filter(type => agents === 'typed' || agents === type)
    .map(type => `\`type: ${type}\``)
    .join(' or ');

/**
 * Permission of a run that this run starts. An agent cannot pass on more than it has, but the permission in a role file
 * comes from the user, whichever run uses that role.
 */
export function permissionFrom(
  parent: RunIdentity,
  asked: Permission | undefined,
  role: Permission | undefined,
): Permission {
  if (asked === undefined)
    return role ?? (rank(parent.permission) < rank('edit') ? parent.permission : 'edit');
  if (rank(asked) <= Math.max(rank(parent.permission), rank(role ?? 'read'))) return asked;
  throw new SquadError(
    'NOT_ALLOWED',
    `Run ${parent.id} has permission "${parent.permission}", so it cannot start a run with permission "${asked}"`,
    {
      suggestions: [`Leave permission out, or use a role whose frontmatter says \`permission: ${asked}\`.`],
    },
  );
}

/** Tools of a run that this run starts. It cannot pass on more than it has; see `permissionFrom`. */
export function toolsFrom(
  parent: RunIdentity,
  asked: string[] | null | undefined,
  role: string[] | undefined,
): string[] | null {
  if (parent.tools === null) return asked === undefined ? (role ?? null) : asked;
  if (asked === undefined || asked === null) return role ?? [...parent.tools];
  const given = new Set([...parent.tools, ...(role ?? [])]);
  // `Bash(git log)` counts as a part of `Bash`.
  const beyond = asked.filter(tool => !given.has(tool) && !given.has(tool.replace(/\(.*$/s, '')));
  if (beyond.length === 0) return asked;
  throw new SquadError(
    'NOT_ALLOWED',
    `Run ${parent.id} has only the tools ${parent.tools.join(', ') || '(none)'}, so it cannot give a run the tools ${beyond.join(', ')}`,
    { suggestions: ['Leave tools out, or use a role whose frontmatter names them.'] },
  );
}

const rank = (permission: Permission): number => Permission.options.indexOf(permission);
