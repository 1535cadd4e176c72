import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';

/** A reviewer belongs to its review: without that it would work for nobody, and in the user's own folder. */
export function refuseReviewer({ id, reviewOf }: Run): void {
  if (reviewOf === null) return;
  throw new SquadError(
    'NOT_ALLOWED',
    `Run ${id} was started to review ${reviewOf}, and only for that review`,
    {
      suggestions: [
        `\`squad review ${shellWord(reviewOf)}\` shows that review. The next one begins when ${reviewOf} asks for it.`,
        `To tell ${reviewOf} something yourself: \`squad review ${shellWord(reviewOf)} --feedback TEXT\` while it waits, \`squad reply ${shellWord(reviewOf)} TEXT\` when it has ended.`,
      ],
    },
  );
}
