import { z } from 'zod';
import { contextFor } from '../core/plan.ts';
import { operation } from './operation.ts';

const Part = z.object({ file: z.string(), how: z.string(), tokens: z.number(), cut: z.boolean() });

/** What an agent would be told of the project, made by what makes it for a run. Nothing is started. */
export const previewContext = operation({
  name: 'preview_context',
  tool: null,
  input: z.strictObject({
    /** None: a bare prompt, as the spawn tools give. */
    roleId: z.string().min(1).optional(),
    engine: z.string().min(1).optional(),
    files: z.array(z.string()).min(1).optional(),
  }),
  output: z.object({
    engine: z.string(),
    notes: z.array(z.string()),
    /** Null: none is asked for. */
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
    const { workspaces, engines } = services;
    const workspace = await workspaces.open(caller);
    const role = roleId === undefined ? null : await workspace.role(roleId);
    const env = await workspaces.environment(caller, role?.meta.env);
    const { spec, notes } = await workspace.engine(asked ?? role?.meta.engine ?? null, env);
    const engine = engines.create(spec);
    const form = role ? 'member' : 'spawn';
    return {
      engine: engine.id,
      notes,
      context: await contextFor({ form, context: files }, role, engine, workspace),
    };
  },
});
