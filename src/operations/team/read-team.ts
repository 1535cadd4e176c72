import { z } from 'zod';
import { operation } from '../operation.ts';
import { runCounts, teammates } from './team-members.ts';

/** The members of the roster, then roles that are not on it, each with its running and queued runs. */
export const readTeam = operation({
  name: 'read_team',
  route: 'GET /team',
  agents: 'always',
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
    const countsOf = runCounts(services, workspace.root);
    return {
      members: team.map(({ name, member }) => ({
        name: member?.name ?? name,
        agent: name,
        role: member?.role ?? null,
        status: member?.status ?? null,
        charter: member?.charter ?? null,
        onRoster: member !== null,
        ...countsOf(name),
      })),
      notes: caller.parent ? [...notes, 'Only runs that are your own business are counted.'] : notes,
    };
  },
});
