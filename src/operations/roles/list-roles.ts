import { z } from 'zod';
import { operation } from '../operation.ts';

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
