import type { Config } from '../../schema/config.ts';
import type { AgentTemplate, Role } from '../../schema/role.ts';
import type { JsonSchema } from '../../schema/run.ts';
import type { RunIdentity } from '../policy.ts';
import type { Context } from '../roles/context.ts';
import type { EngineChoice } from './engine.ts';
import type { TeamMemory } from './team.ts';

/** Who asks, as the hub knows it from the hello or the request. */
export interface Caller {
  client: string | null;
  cwd: string | null;
  /** `--workspace`, or the header of an HTTP request. */
  workspace: string | null;
  env: Record<string, string>;
  /** Folders its client named as roots, for when nothing else says which workspace it is. */
  roots?: readonly string[];
  /** The run this caller is part of, when it was started inside one. */
  parent: RunIdentity | null;
}

/** One workspace as one caller sees it, read afresh for each call. */
export interface Workspace {
  root: string;
  /** Notes for the caller about how it was chosen. */
  notes: readonly string[];
  config: Config;
  /** Where the roles come from, and why there. */
  rolesFolder: { folder: string; reason: string };
  /** Values that came with the repository and wait for the user's trust. */
  ignored: IgnoredSetting[];
  roles(): Promise<Role[]>;
  /** Throws ROLE_UNKNOWN or ROLE_INVALID. */
  role(id: string): Promise<Role>;
  /**
   * The engine of that name, or with null the configured one, or else the first agent CLI that can be used. Never another:
   * throws ENGINE_NOT_SET, ENGINE_UNKNOWN, ENGINE_NOT_TRUSTED, ENGINE_NOT_FOUND, ENGINE_NOT_EXECUTABLE or ENGINE_TOO_OLD.
   */
  engine(name: string | null, env: Record<string, string>): Promise<EngineChoice>;
  /** A JSON Schema from a file in the workspace. Throws SCHEMA_INVALID. */
  outputSchema(file: string): Promise<JsonSchema>;
  /** What the project's own files say, for an agent that does not read them itself. Throws CONTEXT_MISSING. */
  context(wanted: true | string[], loadedByEngine: readonly string[]): Promise<Context>;
  /** The folder an agent works in: absolute, links resolved, inside the workspace (or `within`, in its stead) or an allowed root. */
  directory(cwd: string | undefined, within?: string): Promise<string>;
  /** A file that Squad keeps up to date, in `.squad/` or for a workspace without that in the home; null when there is none yet. */
  teamFile(name: 'IAC.md' | 'CONTEXT.md'): Promise<string | null>;
  /** What its team knows. */
  team: TeamMemory;
  /** Files that came with the workspace and have no effect, or not all of it, until they are trusted. */
  untrusted(): Promise<string[]>;
}

export interface IgnoredSetting {
  file: string;
  key: string;
  reason: string;
}

export interface Workspaces {
  open(caller: Caller): Promise<Workspace>;
  /** Whether only the roots of its client could say which workspace this caller means. */
  needsRoots(caller: Caller): Promise<boolean>;
  /** The folder of that workspace alone. Throws WORKSPACE_UNSET or WORKSPACE_REFUSED. */
  root(caller: Caller): Promise<string>;
  /** Whether its folder is there. One that cannot be looked at for another reason is. */
  isThere(root: string): Promise<boolean>;
  /** Removes what the home holds of the logs of workspaces other than these. */
  keepTeamFilesOf(roots: readonly string[]): Promise<void>;
  /** Templates of the workspace, the user and Squad itself; without a workspace those of the other two. */
  templates(caller: Caller, kind: 'tool' | 'prompt'): Promise<AgentTemplate[]>;
  /** The environment an agent of this caller gets; `keep` names what would otherwise be left out as another session's. */
  environment(caller: Caller, keep?: string[]): Promise<Record<string, string>>;
}
