import { z } from 'zod';
import { ownRun } from '../agent-services.ts';
import { operation } from '../operation.ts';

/** GitHub's limits. */
const MAX_LENGTH = { title: 256, body: 65_536 };

const filled = (name: string, longest: number) =>
  z
    .string()
    .max(longest)
    .regex(/\S/, `The ${name} is empty`)
    .refine(
      text => !/\p{Cc}/u.test(text) && text.isWellFormed(),
      `The ${name} must be one line of plain text`,
    );

export const createPullRequest = operation({
  name: 'create_pull_request',
  route: 'POST /tools/create_pull_request',
  agents: 'typed',
  tool: {
    title: 'Create pull request',
    description:
      'Commit what is left, push the branch and open a pull request, or find the one that is open. A reviewer does it for the run it reviews, which ends the review.',
    readOnly: false,
    forAgents: true,
    toolset: 'team',
  },
  input: z.strictObject({
    title: filled('title', MAX_LENGTH.title),
    description: z.string().max(MAX_LENGTH.body),
    base_branch: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('The branch it is for, unless the one it came from'),
  }),
  output: z.object({ pr_number: z.number(), pr_url: z.string(), branch_name: z.string() }),
  async run(call, { title, description, base_branch }) {
    const { number, url, branch } = await call.services.proposals.open(ownRun(call), {
      title,
      description,
      baseBranch: base_branch ?? null,
    });
    return { pr_number: number, pr_url: url, branch_name: branch };
  },
});

/** More would hit GitHub's rate limit half-way. */
const MAX = { issues: 50, labels: 100, label: 50 };

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
          title: filled('title', MAX_LENGTH.title),
          body: z.string().max(MAX_LENGTH.body),
          labels: z.array(filled('label', MAX.label)).max(MAX.labels).optional(),
        }),
      )
      .min(1)
      .max(MAX.issues),
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
