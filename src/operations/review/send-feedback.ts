import { z } from 'zod';
import { itemsOf } from '../../core/review/review-input.ts';
import { FeedbackType } from '../../schema/review.ts';
import { ownRun } from '../agent-services.ts';
import { operation } from '../operation.ts';

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
  input: z.strictObject({
    feedback: z.string(),
    feedback_type: FeedbackType,
    priority: z.string().optional(),
    actionable_items: z.array(z.string()).optional(),
  }),
  output: z.object({
    feedback_id: z.string(),
    git_commit_hash: z.string(),
    target_instance_id: z.string(),
    cleanup_status: z.literal('scheduled'),
  }),
  async run(call, { feedback, feedback_type, priority, actionable_items }) {
    const review = await call.services.reviews.feedback(ownRun(call), {
      feedback,
      type: feedback_type,
      priority: priority ?? null,
      actionableItems: itemsOf(actionable_items),
    });
    return {
      feedback_id: review.id,
      git_commit_hash: review.feedbackCommit ?? review.commit,
      target_instance_id: review.coderId,
      cleanup_status: 'scheduled' as const,
    };
  },
});
