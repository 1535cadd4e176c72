import { useState } from 'preact/hooks';
import type { RunCard } from '../../../src/schema/run-card.ts';
import { inbox } from '../../state/live.ts';
import { Button } from '../../ui/button.tsx';
import { harmless } from '../../ui/harmless.ts';
import { sendAnswer } from '../inbox/send-answer.ts';

const MOST_SHOWN = 4;

/** The question where the run is, and the answer with it. */
export function AskLine({ asking, asks }: { asking: NonNullable<RunCard['asking']>; asks: number }) {
  const question = harmless(asking.question);
  return (
    <>
      <span class="run-words">
        <a class="question" href={`/inbox#${asking.id}`} title={question}>
          {question}
        </a>
        {asks > 1 && <span class="soft"> and {asks - 1} more</span>}
      </span>
      <span class="run-buttons is-asking">
        <Answers asking={asking} />
      </span>
    </>
  );
}

function Answers({ asking }: { asking: NonNullable<RunCard['asking']> }) {
  const item = inbox.value.find(({ id }) => id === asking.id);
  const open = (
    <a class="button" href={`/inbox#${asking.id}`}>
      open
    </a>
  );
  if (item && item.fields.length > 0) return open;
  if (asking.kind !== 'question')
    return (
      <>
        <Button
          keyName="y"
          label={`Allow: ${asking.question}`}
          onClick={() => void sendAnswer(asking.id, 'yes')}
        >
          allow
        </Button>
        <Button
          keyName="n"
          label={`Deny: ${asking.question}`}
          onClick={() => void sendAnswer(asking.id, 'no')}
        >
          deny
        </Button>
      </>
    );
  if (asking.choices.length === 0) return <WordsAnswer asking={asking} />;
  return (
    <>
      {asking.choices.slice(0, MOST_SHOWN).map(choice => (
        <Button key={choice} onClick={() => void sendAnswer(asking.id, choice)}>
          {harmless(choice)}
        </Button>
      ))}
      {asking.choices.length > MOST_SHOWN && open}
    </>
  );
}

function WordsAnswer({ asking }: { asking: NonNullable<RunCard['asking']> }) {
  const [isSending, setSending] = useState(false);
  return (
    <form
      class="answer-words"
      onSubmit={async event => {
        event.preventDefault();
        const box = event.currentTarget.querySelector('input')!;
        const words = box.value.trim();
        if (words === '' || isSending) return;
        setSending(true);
        if (await sendAnswer(asking.id, words)) box.value = '';
        setSending(false);
      }}
    >
      <input type="text" placeholder="answer" aria-label={`Answer: ${asking.question}`} autocomplete="off" />
      <button type="submit" class="button" aria-disabled={isSending || undefined}>
        send
      </button>
    </form>
  );
}
