import { shellWord } from '../../../src/schema/shell-word.ts';
import { call } from '../../state/api.ts';
import { useDraft } from '../../state/draft.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { commentCommand } from '../evidence/comment-command.ts';
import { LeftUnsent, SendAlong, useSendAlong } from '../evidence/send-along.tsx';
import type { Review } from './reviews-page.tsx';

interface DecideProps {
  review: Review;
  isApproval: boolean;
  onDone(): void;
  onClose(): void;
}

/** Dialog for feedback of the user instead of the reviewer. */
export function Decide({ review, isApproval, onDone, onClose }: DecideProps) {
  const [text, setText, forget] = useDraft(
    `${isApproval ? 'approve' : 'send_back'}:${review.coderId}`,
    isApproval ? 'Approved.' : '',
  );
  const type = isApproval ? 'approved' : 'needs_work';
  const along = useSendAlong(review.coderId, review.reviewerId, review.iteration);
  const isAlong = !isApproval && along.isAlong;
  const decide = async () => {
    const { coderId: run, iteration: round } = review;
    const input = { run, round, action: 'feedback', feedback: text, feedback_type: type } as const;
    await (isAlong ? along.send(text.trim()) : call('steer_review', input));
    forget();
    toast(
      isApproval ? 'Approved. The coder continues.' : 'Sent back. The coder continues with your feedback.',
    );
    onDone();
  };
  const who = review.coder ?? 'The coder';
  return (
    <Confirm
      title={isApproval ? 'Approve this round' : 'Send this round back'}
      effect={`Closes round ${review.iteration} with your decision. Its reviewer is stopped, and ${who} continues with ${isApproval ? 'your approval' : 'your feedback'} in its next turn.`}
      command={
        isAlong
          ? commentCommand(review.coderId, along.comments, text)
          : `squad review ${shellWord(review.coderId)} --type ${type} --feedback ${shellWord(text)}`
      }
      yes={isApproval ? 'Approve' : 'Send back'}
      tone="main"
      onYes={decide}
      onClose={onClose}
    >
      {isApproval && <LeftUnsent along={along} />}
      <label>
        {isApproval ? 'Comment' : 'Requested changes'}
        <textarea
          required={!isAlong}
          value={text}
          rows={4}
          onInput={event => setText(event.currentTarget.value)}
        />
      </label>
      {!isApproval && <SendAlong along={along} />}
    </Confirm>
  );
}
