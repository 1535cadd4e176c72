import { z } from 'zod';
import { operation } from '../operation.ts';
import { ownRun } from '../own-run.ts';
import { filled, LONGEST } from './github-text.ts';

/** More would meet GitHub's own limit half-way. */
const MOST = { issues: 50, labels: 100, label: 50 };

export const createIssues = operation({
  name: 'create_issues',
  route: 'POST /tools/create_issues',
  agents: 'planning',
  tool: {
    title: 'Create issues',
    description:
      'Create GitHub issues, each with a title of its own. After a failure ask again with the same list: none is created twice.',
    readOnly: false,
    forAgents: true,
    toolset: 'team',
  },
  input: z.strictObject({
    issues: z
      .array(
        z.strictObject({
          title: filled('title', LONGEST.title),
          body: z.string().max(LONGEST.body),
          labels: z.array(filled('label', MOST.label)).max(MOST.labels).optional(),
        }),
      )
      .min(1)
      .max(MOST.issues),
  }),
  output: z.object({ issues: z.array(z.object({ issue_number: z.number(), issue_url: z.string() })) }),
  async run(call, { issues }) {
    const made = await call.services.proposals.createIssues(
      ownRun(call),
      issues.map(({ title, body, labels = [] }) => ({ title, body, labels })),
    );
    return { issues: made.map(({ number, url }) => ({ issue_number: number, issue_url: url })) };
  },
});
