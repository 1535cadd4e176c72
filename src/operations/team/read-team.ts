import { z } from 'zod';
import { operation } from '../operation.ts';
import { atWork, teammates } from './team-members.ts';

/** Who is on the team, and who is at work: the roster, then roles that are not on it. */
export const readTeam = operation({
  name: 'read_team',
  route: 'GET /team',
  agents: 'always',
  tool: null,
  input: z.strictObject({}),
  output: z.object({
    members: z.array(
      z.object({
        name: z.string(),
        agent: z.string(),
        role: z.string().nullable(),
        status: z.string().nullable(),
        charter: z.string().nullable(),
        onRoster: z.boolean(),
        running: z.number(),
        queued: z.number(),
      }),
    ),
    notes: z.array(z.string()),
  }),
  async run({ services, caller }) {
    const workspace = await services.workspaces.open(caller);
    const [team, { notes }] = await Promise.all([teammates(workspace), workspace.team.roster()]);
    const workOf = atWork(services, workspace.root);
    return {
      members: team.map(({ name, member }) => ({
        name: member?.name ?? name,
        agent: name,
        role: member?.role ?? null,
        status: member?.status ?? null,
        charter: member?.charter ?? null,
        onRoster: member !== null,
        ...workOf(name),
      })),
      notes: caller.parent ? [...notes, 'Only runs that are your own business are counted.'] : notes,
    };
  },
});
