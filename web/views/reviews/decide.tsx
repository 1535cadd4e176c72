import { useState } from 'preact/hooks';
import { call } from '../../state/api.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { shellWord } from '../shell-word.ts';
import type { Review } from './reviews-page.tsx';

interface DecideProps {
  review: Review;
  isApproval: boolean;
  onDone(): void;
  onClose(): void;
}

/** Feedback in the reviewer's place. */
export function Decide({ review, isApproval, onDone, onClose }: DecideProps) {
  const [words, setWords] = useState(isApproval ? 'Approved.' : '');
  const type = isApproval ? 'approved' : 'needs_work';
  const decide = async () => {
    const input = { run: review.coderId, action: 'feedback', feedback: words, feedback_type: type } as const;
    await call('steer_review', input);
    toast(
      isApproval ? 'Approved: the coder goes on with that.' : 'Sent back: the coder goes on with your words.',
    );
    onDone();
  };
  const who = review.coder ?? 'The coder';
  return (
    <Confirm
      title={isApproval ? 'Approve this round' : 'Send this round back'}
      effect={`Closes round ${review.iteration} with your words: its reviewer is stopped, and ${who} goes on with ${isApproval ? 'your approval' : 'what you ask for'} in its next turn.`}
      command={`squad review ${review.coderId} --type ${type} --feedback ${shellWord(words)}`}
      yes={isApproval ? 'Approve' : 'Send back'}
      tone="main"
      onYes={decide}
      onClose={onClose}
    >
      <label>
        {isApproval ? 'Words with it' : 'What is to be done'}
        <textarea required value={words} rows={4} onInput={event => setWords(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}
