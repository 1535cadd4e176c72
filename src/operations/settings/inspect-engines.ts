import { z } from 'zod';
import { policyFor } from '../../core/runs/engine-policy.ts';
import { optionsOf } from '../../core/runs/run-request.ts';
import type { InstalledCli } from '../../schema/engine-spec.ts';
import { operation, type Services } from '../operation.ts';

/** Every agent CLI that Squad supports: its program, its version, and the limits it cannot enforce. */
export const inspectEngines = operation({
  name: 'inspect_engines',
  route: 'GET /engines',
  agents: 'spawn',
  input: z.strictObject({
    /** False: search for no program and start nothing. */
    look: z.boolean().default(true),
  }),
  output: z.object({
    engines: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        /** Null: not found. */
        program: z.string().nullable(),
        version: z.string().nullable(),
        warning: z.string().nullable(),
        install: z.string(),
        login: z.string(),
        /** Limits that only its instructions set. */
        advisory: z.array(z.string()),
      }),
    ),
  }),
  async run({ services, caller }, { look }) {
    const { engines, workspaces } = services;
    const found = look ? await engines.installed(await workspaces.environment(caller)) : [];
    const installed = new Map(found.map(each => [each.cli, each]));
    return {
      engines: engines.clis().map(({ cli, toolNames, ...facts }) => {
        const found = installed.get(cli);
        return {
          id: cli,
          ...facts,
          program: found?.program ?? null,
          version: found?.version ?? null,
          warning: found?.warning ?? null,
          advisory: found ? advisoryFor(services, found) : [],
        };
      }),
    };
  },
});

/** The limits of a role, except those about cost. */
function advisoryFor({ engines }: Services, { cli, program, version }: InstalledCli): string[] {
  const engine = engines.create({ kind: 'cli', cli, program, version });
  const asked = (['read', 'edit'] as const).flatMap(permission => {
    const request = { task: '', permission, tools: ['Read'] };
    return policyFor(engine, optionsOf(request, {}));
  });
  const limits = asked
    .filter(({ heldBy }) => heldBy === 'advisory')
    .map(({ rule, note }) => {
      const name = rule.startsWith('tools:') ? 'tools' : rule;
      return note === null ? name : `${name} (${note})`;
    });
  return [...new Set(limits)];
}
