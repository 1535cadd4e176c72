import { z } from 'zod';
import { operation } from '../operation.ts';
import { ownRun } from '../own-run.ts';
import { filled, LONGEST } from './github-text.ts';

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
    title: filled('title', LONGEST.title),
    description: z.string().max(LONGEST.body),
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
