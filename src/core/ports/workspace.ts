import type { Config } from '../../schema/config.ts';
import type { AgentTemplate, Role } from '../../schema/role.ts';
import type { JsonSchema } from '../../schema/run.ts';
import type { RunIdentity } from '../policy.ts';
import type { Context } from '../roles/context.ts';
import type { Backlog } from '../team/backlog.ts';
import type { NewDecision } from '../team/decision-file.ts';
import type { Decisions } from '../team/decisions.ts';
import type { BacklogEdit } from '../team/edit-backlog.ts';
import type { HistoryEntry } from '../team/history.ts';
import type { Roster } from '../team/roster.ts';
import type { EngineChoice } from './engine.ts';
import type { FoundClis } from './machines.ts';

/** The caller of an operation, as the hub knows it from the handshake or the request. */
export interface Caller {
  client: string | null;
  cwd: string | null;
  /** Value of `--workspace`, or of the header of an HTTP request. */
  workspace: string | null;
  env: Record<string, string>;
  /** Roots of the MCP client. They are used when no other source names the workspace. */
  roots?: readonly string[];
  /** The run to which the caller belongs. Null for the user. */
  parent: RunIdentity | null;
}

/** One workspace as one caller sees it, read again for each call. */
export interface Workspace {
  root: string;
  /** Notes for the caller about how the workspace was chosen. */
  notes: readonly string[];
  config: Config;
  rolesFolder: { folder: string; reason: string };
  /** Settings that came with the repository and have no effect, because they are not trusted. */
  ignored: IgnoredSetting[];
  roles(): Promise<Role[]>;
  /** Finds a role. Throws ROLE_UNKNOWN or ROLE_INVALID. */
  role(id: string): Promise<Role>;
  /**
   * Returns the engine with this name. With null the configured engine, or the first usable agent CLI if none is
   * configured. Never falls back to another engine: throws ENGINE_NOT_SET, ENGINE_UNKNOWN, ENGINE_NOT_TRUSTED,
   * ENGINE_NOT_FOUND, ENGINE_NOT_EXECUTABLE or ENGINE_TOO_OLD.
   */
  engine(name: string | null, env: Record<string, string>, on?: FoundClis): Promise<EngineChoice>;
  /** A JSON Schema from a file in the workspace. Throws SCHEMA_INVALID. */
  outputSchema(file: string): Promise<JsonSchema>;
  /** Context from the project's files, except those that the engine reads itself. Throws CONTEXT_MISSING. */
  context(wanted: true | string[], loadedByEngine: readonly string[]): Promise<Context>;
  /** The agent's working directory: absolute, links resolved, inside the workspace (or `within` instead) or an allowed root. */
  directory(cwd: string | undefined, within?: string): Promise<string>;
  /**
   * A file that Squad keeps up to date in `.squad/`, or in Squad's home for a workspace without that folder. Null if it
   * does not exist yet.
   */
  teamFile(name: 'IAC.md' | 'CONTEXT.md'): Promise<string | null>;
  team: TeamMemory;
  /**
   * Files of the workspace that have no or only a partial effect until they are trusted; with roles, those that runs of
   * these roles would use.
   */
  untrusted(roles?: readonly string[]): Promise<string[]>;
}

export interface IgnoredSetting {
  file: string;
  key: string;
  reason: string;
}

export interface Workspaces {
  open(caller: Caller): Promise<Workspace>;
  /** True if only the client's roots can show which workspace the caller means. */
  needsRoots(caller: Caller): Promise<boolean>;
  /** Root folder of the workspace. Throws WORKSPACE_UNSET or WORKSPACE_REFUSED. */
  root(caller: Caller): Promise<string>;
  /** Whether the folder exists. Also true if that cannot be checked. */
  isThere(root: string): Promise<boolean>;
  /** Removes the team files in Squad's home for all workspaces except these. */
  keepTeamFilesOf(roots: readonly string[]): Promise<void>;
  /** Templates of the workspace, the user and Squad; without a workspace only those of the user and Squad. */
  templates(caller: Caller, kind: 'tool' | 'prompt'): Promise<AgentTemplate[]>;
  /** The environment of this caller's agents. `keep`: variables that would otherwise be removed because they belong to another session. */
  environment(caller: Caller, keep?: string[]): Promise<Record<string, string>>;
}

export interface TeamAgent {
  name: string;
  hasCharter: boolean;
  hasHistory: boolean;
}

/**
 * Team files in `.squad`, which people and other programs edit too. They are read again on each call. Problems become
 * notes, never errors; without the folder everything is empty, and a note says so.
 */
export interface TeamMemory {
  /** Whether there is a roster, a decisions file or a backlog. */
  hasFiles(): Promise<boolean>;
  roster(): Promise<Roster>;
  /** The decisions; `revision` changes whenever the files change. */
  decisions(): Promise<Decisions & { revision: string }>;
  /** The backlog; `revision` changes whenever the file changes. */
  backlog(): Promise<Backlog & { revision: string }>;
  /**
   * Changes one item and nothing else in the file; with a revision, only if the file still has that revision. Throws
   * TEAM_MISSING, BACKLOG_CHANGED, BACKLOG_ITEM_UNKNOWN, INVALID_INPUT and PERMISSION_DENIED.
   */
  changeBacklog(edit: BacklogEdit, revision: string | null): Promise<{ number: number; title: string }>;
  agents(): Promise<TeamAgent[]>;
  /** Charter of an agent. Null if there is no agent with that name, or it has no charter. */
  charter(name: string): Promise<string | null>;
  /** History of an agent, in the order of the file. */
  history(name: string): Promise<HistoryEntry[] | null>;
  /** Writes a new file into the decision inbox; existing files stay unchanged. Throws TEAM_MISSING. */
  record(decision: NewDecision, at: Date): Promise<{ id: string; file: string }>;
}
