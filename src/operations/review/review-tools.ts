import { z } from 'zod';
import type { PlannedReview } from '../../core/review/ports.ts';
import { reviewerRole } from '../../core/review/reviewer-role.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import { ownRun } from '../agent-services.ts';
import { type Call, operation } from '../operation.ts';
import { planRuns } from '../runs/start-runs.ts';
import { FeedbackInput, feedbackOf } from './steer-review.ts';

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

export const sendFeedback = operation({
  name: 'send_feedback',
  route: 'POST /tools/send_feedback',
  agents: 'review',
  tool: {
    title: 'Send feedback',
    description:
      'End your review: your feedback is committed to the branch you reviewed, and its author continues with it. Call it once; you are stopped right after.',
    readOnly: false,
    forAgents: true,
    toolset: 'team',
  },
  input: FeedbackInput,
  output: z.object({
    feedback_id: z.string(),
    git_commit_hash: z.string(),
    target_instance_id: z.string(),
    cleanup_status: z.literal('scheduled'),
  }),
  async run(call, input) {
    const review = await call.services.reviews.feedback(ownRun(call), feedbackOf(input));
    return {
      feedback_id: review.id,
      git_commit_hash: review.feedbackCommit ?? review.commit,
      target_instance_id: review.coderId,
      cleanup_status: 'scheduled' as const,
    };
  },
});

/** Length limits of GitHub. */
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

/** Limits of one call, because GitHub's rate limit could stop a longer list half-way. */
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

/**
 * Plans a reviewer like any run. `caller` is the reviewed run. If the reviewer's role names no engine, the reviewer
 * gets the coder's engine, which may have been chosen for that run only, but not the coder's model.
 */
export async function planReviewer(
  call: Pick<Call, 'services' | 'caller'>,
  coder: Run,
  task: string,
): Promise<PlannedReview> {
  const workspace = await call.services.workspaces.open(call.caller);
  const roles = await workspace.roles();
  const { roleId, note } = reviewerRole(roles, workspace.config.review.value.role);
  const role = roles.find(({ id }) => id === roleId);
  const namesEngine = role?.meta.engine !== undefined || role?.ungranted.includes('engine');
  const coderPlan = namesEngine ? null : await loadPlan(call.services.files, coder);
  const plan = await planRuns(
    call,
    {
      members: [
        {
          ...{ roleId, task, cwd: coder.cwd, lineageId: coder.lineageId, reviewOf: coder.id },
          ...(coderPlan && { spec: coderPlan.spec }),
          ...(coder.worktree && { forkOf: coder.worktree }),
          // The reviewer runs on the coder's machine, which has the program and its login.
          ...(coder.options.machine !== null && { machine: coder.options.machine }),
          title: `Review: ${runSummary(coder)}`,
        },
      ],
      metadata: { reviewOf: coder.id },
    },
    workspace,
  );
  return { plan, notes: [...(note === null ? [] : [note]), ...plan.warnings] };
}
