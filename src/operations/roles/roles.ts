import { z } from 'zod';
import type { Engine } from '../../core/ports/engine.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import { contextFor, engineFor } from '../../core/runs/plan-run.ts';
import { cliNamed } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { enginesOf, type Role } from '../../schema/role.ts';
import { RoleIsolation } from '../../schema/worktree.ts';
import { operation, type Services } from '../operation.ts';

export const listRoles = operation({
  name: 'list_roles',
  route: 'GET /roles',
  agents: 'spawn',
  tool: {
    title: 'List roles',
    description: 'Roles an agent can take. Use an id as roleId in start_squad_members.',
    readOnly: true,
  },
  input: z.strictObject({}),
  output: z.object({
    roles: z.array(z.object({ id: z.string(), name: z.string(), description: z.string() })),
  }),
  async run({ services, caller }) {
    const workspace = await services.workspaces.open(caller);
    const roles = await workspace.roles();
    return { roles: roles.map(({ id, name, description }) => ({ id, name, description })) };
  },
});

const Part = z.object({ file: z.string(), how: z.string(), tokens: z.number(), cut: z.boolean() });

/** Previews the context that an agent would get. Starts nothing. */
export const previewContext = operation({
  name: 'preview_context',
  route: 'POST /context',
  agents: 'spawn',
  input: z.strictObject({
    /** Id of the role. Without a role the context is for a plain prompt, as from the spawn tools. */
    roleId: z.string().min(1).optional(),
    engine: z.string().min(1).optional(),
    files: z.array(z.string()).min(1).optional(),
  }),
  output: z.object({
    /** Engine that would run. Null if no engine is available. */
    engine: z.string().nullable(),
    /** Whether the run would get a work tree of its own, unless the call decides. */
    isolation: RoleIsolation,
    timeoutMs: z.number(),
    notes: z.array(z.string()),
    /** The context. Null if none was requested. */
    context: z
      .object({
        tokens: z.number(),
        budgetTokens: z.number(),
        parts: z.array(Part),
        leftOut: z.array(z.object({ file: z.string(), reason: z.string() })),
        text: z.string(),
      })
      .nullable(),
  }),
  async run({ services, caller }, { roleId, engine: asked, files }) {
    const { workspaces } = services;
    const workspace = await workspaces.open(caller);
    const role = roleId === undefined ? null : await workspace.role(roleId);
    const env = await workspaces.environment(caller, role?.meta.env);
    const { engine, notes } = await reader(services, workspace, { asked, role, env });
    const form = role ? 'member' : 'spawn';
    return {
      engine: engine?.id ?? null,
      isolation: role?.meta.isolation ?? 'none',
      timeoutMs: role?.meta.timeout ?? workspace.config.processTimeoutMs.value,
      notes,
      context: await contextFor({ form, context: files }, role, engine ?? READS_NOTHING, workspace),
    };
  },
});

const READS_NOTHING: Pick<Engine, 'loadsItself'> = { loadsItself: [] };
/**
 * Error codes that are ignored here: a preview starts nothing, so it is enough to know which CLI would read the
 * context.
 */
const ABSENT: readonly string[] = ['ENGINE_NOT_FOUND', 'ENGINE_NOT_EXECUTABLE', 'ENGINE_TOO_OLD'];
const UNDECIDED: readonly string[] = ['ENGINE_NOT_SET', 'ENGINE_NOT_TRUSTED'];

async function reader(
  { engines }: Services,
  workspace: Workspace,
  { asked, role, env }: { asked?: string; role: Role | null; env: Record<string, string> },
): Promise<{ engine: Engine | null; notes: string[] }> {
  try {
    const { spec, notes } = await engineFor(asked, role, workspace, env);
    return { engine: engines.create(spec), notes };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    const cli = cliNamed(asked ?? (role && enginesOf(role.meta)[0]) ?? workspace.config.engine.value ?? '');
    if (ABSENT.includes(thrown.code) && cli)
      return {
        engine: engines.create({ kind: 'cli', cli, program: cli, version: null }),
        notes: [`${thrown.message}: a run would be refused.`],
      };
    if (![...ABSENT, ...UNDECIDED].includes(thrown.code)) throw thrown;
    return {
      engine: null,
      notes: [`${thrown.message}: nothing is left out as read by the engine itself.`],
    };
  }
}
