import { visibleText } from '../../../../src/base/text.ts';
import { closedItem } from '../../../state/closed-items.ts';
import { useDraft } from '../../../state/draft.ts';
import { Button } from '../../../ui/button.tsx';
import { disambiguate } from '../../../ui/disambiguate.ts';
import { CLOSED_STYLES, closedState } from '../../inbox/closed-text.ts';
import { Outcome } from '../../inbox/outcome.tsx';
import { useAnswering } from '../../inbox/use-answering.ts';
import { fitsOnOneLine } from './fits-on-one-line.ts';
import type { Asking } from './use-stable-question.ts';

const MAX_SHOWN = 4;

interface AskLineProps {
  asking: Asking;
  asks: number;
  isSettled: boolean;
  /** Shows the next question of the run. Null if there is only one. */
  onNext: (() => void) | null;
}

/** Shows a question in the row of its run, with the means to answer it. */
export function AskLine({ asking, asks, isSettled, onNext }: AskLineProps) {
  const question = visibleText(asking.question);
  const item = closedItem(asking.id);
  return (
    <>
      <span class="run-words">
        {isSettled && <Outcome item={item} isShort />}{' '}
        <a class="question" href={`/inbox#${asking.id}`} title={question}>
          {question}
        </a>
        {!isSettled && asks > 1 && <span class="soft"> and {asks - 1} more</span>}
      </span>
      <span class="run-buttons is-asking">
        <Answers
          key={asking.id}
          asking={asking}
          settled={isSettled ? CLOSED_STYLES[closedState(item)].word : null}
        />
        {onNext && <Button onClick={onNext}>next question</Button>}
      </span>
    </>
  );
}

interface AnswersProps {
  asking: Asking;
  settled: string | null;
}

/** Buttons that answer a question in its row. A question that does not fit on the line has none. */
function Answers({ asking, settled }: AnswersProps) {
  const { why, send } = useAnswering(asking.id, settled);
  const open = (
    <a class="button" href={`/inbox#${asking.id}`} aria-label={`Open: ${visibleText(asking.question)}`}>
      open
    </a>
  );
  if (!fitsOnOneLine(asking)) return open;
  if (asking.kind !== 'question')
    return (
      <>
        <Button keyName="y" label={`Allow: ${asking.question}`} why={why} onClick={() => void send('yes')}>
          allow
        </Button>
        <Button keyName="n" label={`Deny: ${asking.question}`} why={why} onClick={() => void send('no')}>
          deny
        </Button>
      </>
    );
  if (asking.choices.length === 0) return <WordsAnswer {...{ asking, why, send }} />;
  const shown = disambiguate(asking.choices);
  return (
    <>
      {asking.choices.slice(0, MAX_SHOWN).map((choice, index) => (
        <Button key={index} keyName={String(index + 1)} why={why} onClick={() => void send(choice)}>
          {shown[index]}
        </Button>
      ))}
      {asking.choices.length > MAX_SHOWN && open}
    </>
  );
}

interface WordsAnswerProps {
  asking: Asking;
  why: string | null;
  send(answer: string): Promise<boolean>;
}

function WordsAnswer({ asking, why, send }: WordsAnswerProps) {
  const [text, setText, forget] = useDraft(`answer:${asking.id}`);
  return (
    <form
      class="answer-words"
      onSubmit={async event => {
        event.preventDefault();
        if (text.trim() !== '' && (await send(text.trim()))) forget();
      }}
    >
      <input
        type="text"
        placeholder="answer"
        aria-label={`Answer: ${visibleText(asking.question)}`}
        autocomplete="off"
        value={text}
        onInput={event => setText(event.currentTarget.value)}
      />
      <button type="submit" class="button" title={why ?? undefined} aria-disabled={why !== null || undefined}>
        send
      </button>
    </form>
  );
}
