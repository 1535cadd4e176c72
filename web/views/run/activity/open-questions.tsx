import '../../inbox/inbox.css';
import type { InboxItem } from '../../../../src/schema/inbox.ts';
import { type Binding, useKeys } from '../../../keys.ts';
import { inbox } from '../../../state/live.ts';
import { Icon } from '../../../ui/icon.tsx';
import { Plain } from '../../../ui/plain.tsx';
import { Ago } from '../../../ui/time.tsx';
import { AnswerBox } from '../../inbox/answer-box.tsx';
import { sendAnswer } from '../../inbox/send-answer.ts';

/** What it waits for now, to be answered here. */
export function OpenQuestions({ runId }: { runId: string }) {
  const open = inbox.value.filter(item => item.runId === runId);
  useKeys(answerKeys(open[0]));
  if (open.length === 0) return null;
  return (
    <section class="open-questions" aria-label="Questions that wait for an answer">
      {open.map(item => (
        <div key={item.id} class="open-question">
          <p class="tone-ask">
            <Icon name="hand" /> {item.kind === 'question' ? 'It asks' : 'It asks leave'}
            {item.source && <> for {item.source}</>} ·{' '}
            <span class="soft">
              {item.default === null ? 'goes on without an answer' : `“${item.default}” counts as the answer`}{' '}
              <Ago at={item.deadlineAt} />
            </span>
          </p>
          <Plain text={item.question} />
          {item.details && (
            <pre class="ask-details">
              <Plain text={item.details} />
            </pre>
          )}
          <AnswerBox item={item} />
        </div>
      ))}
    </section>
  );
}

/** Of the one that waits longest: the keys its buttons show. */
function answerKeys(item: InboxItem | undefined): Binding[] {
  if (!item || item.fields.length > 0) return [];
  const answer = (key: string, what: string, words: string) => ({
    key,
    what,
    run: () => void sendAnswer(item.id, words),
  });
  if (item.kind !== 'question') return [answer('y', 'Allow it', 'yes'), answer('n', 'Deny it', 'no')];
  return item.choices.slice(0, 9).map((choice, at) => answer(String(at + 1), `Answer: ${choice}`, choice));
}
