import { type ConfigFinding, lintMcpConfig, type RoleWish } from '../../core/gateway/lint-config.ts';
import { lintRoleFiles, type RoleFinding } from '../../core/gateway/lint-roles.ts';
import type { ConfigInForce } from '../../core/ports/gateway.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import type { Services } from '../operation.ts';

/** What is known around a configuration: what its servers have, and what the files of roles name. */
export interface KnownServers {
  tools: Record<string, string[]>;
  roles: RoleWish[];
}

export async function knownServers(
  { gateway }: Pick<Services, 'gateway'>,
  workspace: Workspace,
): Promise<KnownServers> {
  const [tools, roles] = await Promise.all([gateway.knownTools(workspace.root), workspace.roles()]);
  return {
    tools,
    roles: roles.map(({ id, file, wantedMcp, ungranted }) => ({
      ...{ id, file, mcp: wantedMcp, isTrusted: !ungranted.includes('mcp') },
    })),
  };
}

/** What the configuration in force and the role files name that is not there, and what nobody has; beside what the file says by itself. */
export function serverRemarks({ config, file }: ConfigInForce, { tools, roles }: KnownServers): string[] {
  if (config === null) return [];
  const byItself = new Set(lintMcpConfig(config, { roles: null, env: null }).map(keyOf));
  const known = { roles: roles.map(({ id }) => id), env: null, tools, roleFiles: roles };
  return [
    ...lintMcpConfig(config, known)
      .filter(finding => !byItself.has(keyOf(finding)))
      .map(finding => sentence(file, finding)),
    ...lintRoleFiles(config, roles, tools).map(finding => sentence(finding.file, finding)),
  ];
}

const keyOf = ({ path, message }: ConfigFinding): string => JSON.stringify([path, message]);

const sentence = (
  file: string,
  { message, suggestion }: Pick<RoleFinding, 'message' | 'suggestion'>,
): string => `${file}: ${message}.${suggestion === undefined ? '' : ` ${suggestion}`}`;
