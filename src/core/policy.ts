import { SquadError } from '../schema/error.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import { Permission } from '../schema/run.ts';
import { decide, type Thing } from './gateway/decide.ts';
import type { ServerGrant } from './gateway/grants.ts';

/** A run as somebody who asks. */
export interface RunIdentity {
  id: RunId;
  squadId: SquadId;
  depth: number;
  /** Its role lets it start runs of its own. */
  spawn: boolean;
  /** Its role lets it write decisions of the team down. */
  records: boolean;
  permission: Permission;
  /** The only ones it may use; null: all its engine has. */
  tools: readonly string[] | null;
  /** What it has of other servers; absent: nothing. */
  grants?: { servers: readonly ServerGrant[]; workspaceRoot: string };
}

/** Who asks: the user, by whatever client, or an agent at work. */
export type Subject = { kind: 'user' } | RunSubject;
export interface RunSubject extends RunIdentity {
  kind: 'run';
  /** False once it has ended: what it left behind may ask nothing more than where it stands. */
  isLive: boolean;
}

/** A run as something that is asked about. */
export interface Asked {
  /** Itself, then the run that started it, and so on up. */
  line: readonly RunId[];
  squadId: SquadId;
}

/** What a run may do at all: with nothing granted, or with that granted. Whatever is not here is the user's alone. */
const FOR_RUNS: Readonly<Record<string, 'always' | 'spawn' | 'record'>> = {
  squad_status: 'always',
  squad_decision_search: 'always',
  squad_decision_record: 'record',
  // The team's files, as resources and in the terminal.
  read_team: 'always',
  list_decisions: 'always',
  list_backlog: 'always',
  list_roles: 'spawn',
  start_squad_members: 'spawn',
  spawn_claude: 'spawn',
  spawn_codex: 'spawn',
  spawn_agent: 'spawn',
  spawn_parallel: 'spawn',
  get_result: 'spawn',
  list_running: 'spawn',
  cancel_run: 'spawn',
  // What the terminal's own commands for these are made of.
  start_squad: 'spawn',
  list_runs: 'spawn',
  show_run: 'spawn',
  find_runs: 'spawn',
  wait_for_runs: 'spawn',
  read_output: 'spawn',
  follow_events: 'spawn',
  reply_to_run: 'spawn',
  retry_runs: 'spawn',
  diff_run: 'spawn',
  inspect_workspace: 'spawn',
  inspect_engines: 'spawn',
  preview_context: 'spawn',
};

/**
 * The one answer to "may it?": for lists, calls, commands and everything that is looked up on the way. With a run as object,
 * whether it is any of the subject's business: its own, one it started, or one that came of those. With something of another
 * server, whether it may see and use it.
 */
export function allowed(subject: Subject, action: 'use', object: Thing): boolean;
export function allowed(subject: Subject, action: string, object?: Asked): boolean;
export function allowed(subject: Subject, action: string, object?: Asked | Thing): boolean {
  if (object !== undefined && 'server' in object) return action === 'use' && mayUse(subject, object);
  if (subject.kind === 'user') return true;
  const needs = Object.hasOwn(FOR_RUNS, action) ? FOR_RUNS[action] : undefined;
  if (needs === undefined) return false;
  if (!subject.isLive && action !== 'squad_status') return false;
  if ((needs === 'spawn' && !subject.spawn) || (needs === 'record' && !subject.records)) return false;
  if (object === undefined || object.line.includes(subject.id)) return true;
  // How those it was started with are doing, and no more than that.
  return action === 'squad_status' && object.squadId === subject.squadId;
}

/** What nobody has approved is kept from the user's own programs too. */
function mayUse(subject: Subject, thing: Thing): boolean {
  if (subject.kind === 'user') return thing.isApproved;
  if (!subject.isLive || !subject.grants) return false;
  return decide(subject.grants.servers, thing, subject.grants).allowed;
}

/** Why not, and what would have to be otherwise. */
export function notAllowed(subject: RunSubject, action: string): SquadError {
  const { id, spawn, isLive } = subject;
  if (Object.hasOwn(FOR_RUNS, action) && !isLive)
    return new SquadError(
      'NOT_ALLOWED',
      `This was started inside run ${id}, which has ended: ${action} is closed to it`,
      {
        suggestions: ['In a terminal of your own, unset SQUAD_RUN_ID and SQUAD_TURN.'],
      },
    );
  if (Object.hasOwn(FOR_RUNS, action) && FOR_RUNS[action] === 'record')
    return new SquadError(
      'NOT_ALLOWED',
      `This runs inside run ${id}, whose role does not let it use ${action}`,
      {
        suggestions: [
          'It needs `squad/squad_decision_record` among `mcp` in the frontmatter of its role, and a role that came with the repository needs `squad trust`.',
        ],
      },
    );
  if (Object.hasOwn(FOR_RUNS, action) && !spawn)
    return new SquadError(
      'NOT_ALLOWED',
      `This runs inside run ${id}, whose role does not let it use ${action}`,
      {
        suggestions: [
          'It needs `spawn: true` in the frontmatter of its role, and a role that came with the repository needs `squad trust`.',
        ],
      },
    );
  return new SquadError(
    'NOT_ALLOWED',
    `This runs inside run ${id}: ${action} is for the user, not for agents`,
    {
      suggestions: ['Ask the user to do it in a terminal of their own.'],
    },
  );
}

/**
 * What a run gets that this run starts. By its own word an agent gives no more than it has; what a role says is the user's
 * word, whoever uses that role.
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
    `Run ${parent.id} has permission ${parent.permission} and cannot give ${asked}`,
    {
      suggestions: [`Leave permission out, or use a role whose frontmatter says \`permission: ${asked}\`.`],
    },
  );
}

/** The tools of a run that this run starts, by the same rule: its own are all it can hand on. */
export function toolsFrom(
  parent: RunIdentity,
  asked: string[] | null | undefined,
  role: string[] | undefined,
): string[] | null {
  if (parent.tools === null) return asked === undefined ? (role ?? null) : asked;
  if (asked === undefined || asked === null) return role ?? [...parent.tools];
  const given = new Set([...parent.tools, ...(role ?? [])]);
  // `Bash(git log)` is a part of `Bash`.
  const beyond = asked.filter(tool => !given.has(tool) && !given.has(tool.replace(/\(.*$/s, '')));
  if (beyond.length === 0) return asked;
  throw new SquadError(
    'NOT_ALLOWED',
    `Run ${parent.id} has the tools ${parent.tools.join(', ') || '(none)'} and cannot give ${beyond.join(', ')}`,
    { suggestions: ['Leave tools out, or use a role whose frontmatter names them.'] },
  );
}

/** From the least to the most. */
const rank = (permission: Permission): number => Permission.options.indexOf(permission);
