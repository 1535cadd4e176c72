import { useState } from 'preact/hooks';
import { call } from '../../state/api.ts';
import type { LineComment } from './saved-comments.ts';
import { howMany, setUnsent, unsentComments } from './unsent-comments.ts';

interface Along {
  comments: LineComment[];
  /** True if the comments are sent with the decision. */
  isAlong: boolean;
  setAlong(isAlong: boolean): void;
  /** Sends text and comments as one message, because an agent would handle two messages separately. */
  send(words: string): Promise<void>;
}

/** Unsent comments on the diff of the coder or its reviewer. */
export function useSendAlong(coder: string, reviewer: string | null, round?: number): Along {
  const [isWanted, setAlong] = useState(true);
  const runs = [coder, ...(reviewer === null || reviewer === coder ? [] : [reviewer])];
  const comments = runs.flatMap(run => unsentComments(run).value);
  return {
    comments,
    isAlong: isWanted && comments.length > 0,
    setAlong,
    async send(words) {
      await call('comment_on_run', { run: coder, comments, round, ...(words && { message: words }) });
      for (const run of runs) setUnsent(run, []);
    },
  };
}

export function SendAlong({ along: { comments, isAlong, setAlong } }: { along: Along }) {
  if (comments.length === 0) return null;
  return (
    <label class="start-check">
      <input type="checkbox" checked={isAlong} onChange={event => setAlong(event.currentTarget.checked)} />{' '}
      Include {howMany(comments)} not sent yet
    </label>
  );
}

/** Warning before a decision that leaves the comments unsent. */
export function LeftUnsent({ along: { comments } }: { along: Along }) {
  if (comments.length === 0) return null;
  const [is, it] = comments.length === 1 ? ['is', 'it'] : ['are', 'them'];
  return (
    <p class="tone-ask">
      {howMany(comments)} on lines {is} not sent yet, and approving does not send {it}. To send {it}, send the
      work back instead.
    </p>
  );
}
