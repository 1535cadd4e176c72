import { z } from 'zod';
import { ownRun } from '../agent-services.ts';
import { operation } from '../operation.ts';

export const requestReview = operation({
  name: 'request_review',
  route: 'POST /tools/request_review',
  agents: 'coding',
  tool: {
    title: 'Request review',
    description:
      'Have your work reviewed: everything you changed is committed to your branch and a reviewer starts. Then end your turn; your next one begins with the feedback.',
    readOnly: false,
    forAgents: true,
    toolset: 'team',
  },
  input: z.strictObject({
    reviewer_prompt: z.string().optional().describe('What the reviewer should look at'),
    completion_message: z.string().optional().describe('What you did, and how you checked it'),
  }),
  output: z.object({
    review_instance_id: z.string(),
    session_name: z.string().nullable(),
    worktree_path: z.string(),
    branch_name: z.string(),
    note: z.string().optional(),
  }),
  async run(call, { reviewer_prompt, completion_message }) {
    const coder = ownRun(call);
    const { reviewer, worktree, sessionName, notes } = await call.services.reviews.request(coder, {
      reviewerPrompt: given(reviewer_prompt),
      completionMessage: given(completion_message),
    });
    return {
      review_instance_id: reviewer.id,
      session_name: sessionName,
      worktree_path: worktree.path,
      branch_name: coder.worktree?.branch ?? worktree.branch,
      ...(notes.length > 0 && { note: notes.join(' ') }),
    };
  },
});

const given = (text: string | undefined) => (text === undefined || text.trim() === '' ? null : text);
