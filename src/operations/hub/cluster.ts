import { z } from 'zod';
import { clusterProblems } from '../../core/hub/cluster-problems.ts';
import { SquadError } from '../../schema/error.ts';
import { ClusterReport } from '../../schema/machines/cluster.ts';
import { operation } from '../operation.ts';

export const inspectCluster = operation({
  name: 'inspect_cluster',
  route: 'GET /cluster',
  input: z.strictObject({}),
  output: ClusterReport.extend({
    problems: z.array(
      z.object({
        hub: z.string().nullable().describe('Null if the problem concerns several hubs'),
        message: z.string(),
        next: z.string().describe('What you can do'),
      }),
    ),
  }),
  async run({ services }) {
    const report = await services.store.reportHubs();
    if (report === null)
      throw new SquadError('INVALID_INPUT', 'This hub has a SQLite database, which no other hub uses.', {
        suggestions: ['Several hubs need PostgreSQL: `squad hub join URL`.'],
      });
    return { ...report, problems: clusterProblems(report) };
  },
});
