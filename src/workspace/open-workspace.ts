import { homedir } from 'node:os';
import { resolveConfig } from '../core/config.ts';
import { trustableFiles } from '../core/config-sources.ts';
import type { Caller, Engines, Workspaces } from '../core/ports.ts';
import { SquadError } from '../schema/error.ts';
import type { Role } from '../schema/role.ts';
import { readConfigFiles } from './config-files.ts';
import { contextOf } from './context-of.ts';
import { resolveCwd, workspaceRoot } from './cwd.ts';
import { chooseEngine } from './engine-choice.ts';
import { readOutputSchema } from './output-schema.ts';
import { readRole, readRoles, type Trust } from './roles.ts';
import { rolesFolder } from './roles-folder.ts';
import { isTrusted } from './trust.ts';

export interface WorkspacesOptions {
  home: string;
  shippedRoles: string;
  environment: Workspaces['environment'];
  engines: Pick<Engines, 'find' | 'installed'>;
  /** A role that cannot be used was read; told once for each fault, not at every listing. */
  onFault(file: string, fault: string): void;
}

/** Reads a workspace's files at every call: what a person just edited is what counts. */
export function createWorkspaces({
  home,
  shippedRoles,
  environment,
  engines,
  onFault,
}: WorkspacesOptions): Workspaces {
  const told = new Set<string>();
  const tellFaults = (roles: Role[]): Role[] => {
    for (const { file, fault } of roles) {
      if (fault === null || told.has(`${file}\0${fault}`)) continue;
      told.add(`${file}\0${fault}`);
      onFault(file, fault);
    }
    return roles;
  };
  return {
    environment,
    async open(caller) {
      const env = { HOME: homedir(), ...caller.env };
      const { root } = await workspaceRoot({
        flag: caller.workspace ?? undefined,
        isHeader: caller.cwd === null,
        env,
        cwd: caller.cwd ?? noFolder(caller, env),
        userHome: env.HOME,
      });
      const sources = await readConfigFiles({ workspace: root, home, env });
      const { config, ignored } = resolveConfig(sources);
      const folder = await rolesFolder({
        workspace: root,
        agentsDirSetting: config.agentsDir,
        shippedDir: shippedRoles,
      });
      // The shipped roles and a folder the user named are the user's own; what lies in the workspace came with it.
      const isOwn =
        folder.from === 'shipped' || (folder.from === 'setting' && config.agentsDir.origin !== 'workspace');
      const mayGrant: Trust = async (file, text) => isOwn || isTrusted(home, file, text);
      return {
        root,
        config,
        ignored,
        rolesFolder: { folder: folder.directory, reason: folder.why },
        roles: async () => tellFaults(await readRoles(folder, mayGrant)),
        role: id => readRole(folder, id, mayGrant),
        engine: (name, env) => chooseEngine(name, env, { config, ignored, engines }),
        outputSchema: file => readOutputSchema(root, file),
        context: async (wanted, loadedByEngine) => contextOf(root, config, wanted, loadedByEngine),
        directory: async cwd =>
          (await resolveCwd({ workspace: root, cwd, allowedRoots: config.allowedRoots.value })).directory,
        untrusted: async () => [
          ...trustableFiles(sources)
            .filter(({ trusted }) => !trusted)
            .map(({ file }) => file),
          ...(await readRoles(folder, mayGrant))
            .filter(role => role.ungranted.length > 0)
            .map(role => role.file),
        ],
      };
    },
  };
}

function noFolder(caller: Caller, env: Record<string, string>): string {
  if (caller.workspace !== null || env.SQUAD_WORKSPACE) return '/';
  throw new SquadError('WORKSPACE_UNSET', 'This request does not say which workspace it is about', {
    suggestions: ['Send the header "Squad-Workspace: /absolute/path", or set SQUAD_WORKSPACE.'],
  });
}
