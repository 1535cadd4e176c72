import { useState } from 'preact/hooks';
import type { InboxItem } from '../../../src/schema/inbox.ts';
import { Button } from '../../ui/button.tsx';
import { toldApart } from '../../ui/told-apart.ts';
import { AnswerForm } from './answer-form.tsx';
import { type Answering, useAnswering } from './use-answering.ts';

export interface AnswerProps {
  item: InboxItem;
  answering: Answering;
}

/** By a form, a yes or no, one of some choices, or words. One that is settled stays, and takes nothing. */
export function AnswerBox({ item, settled = null }: { item: InboxItem; settled?: string | null }) {
  const answering = useAnswering(item.id, settled);
  if (item.fields.length > 0) return <AnswerForm {...{ item, answering }} />;
  if (item.kind === 'question' && item.choices.length === 0) return <Words answering={answering} />;
  return (
    <p class="ask-answers">
      {item.kind === 'question' ? <Choices {...{ item, answering }} /> : <YesOrNo answering={answering} />}
    </p>
  );
}

function YesOrNo({ answering: { why, send } }: { answering: Answering }) {
  return (
    <>
      <Button tone="main" keyName="y" why={why} onClick={() => void send('yes')}>
        allow
      </Button>
      <Button tone="danger" keyName="n" why={why} onClick={() => void send('no')}>
        deny
      </Button>
    </>
  );
}

function Choices({ item: { choices }, answering: { why, send } }: AnswerProps) {
  const shown = toldApart(choices);
  return choices.map((choice, index) => (
    <Button
      key={index}
      keyName={index < 9 ? String(index + 1) : undefined}
      why={why}
      onClick={() => void send(choice)}
    >
      {shown[index]}
    </Button>
  ));
}

function Words({ answering: { why, send } }: { answering: Answering }) {
  const [words, setWords] = useState('');
  const submit = async () => {
    if (words.trim() !== '' && (await send(words.trim()))) setWords('');
  };
  return (
    <form
      class="ask-words"
      onSubmit={event => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        rows={2}
        aria-label="Your answer"
        placeholder="your answer"
        value={words}
        onInput={event => setWords(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.repeat || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void submit();
        }}
      />
      <button
        type="submit"
        class="button main"
        title={why ?? undefined}
        aria-disabled={why !== null || words.trim() === '' || undefined}
      >
        send <kbd>Ctrl enter</kbd>
      </button>
    </form>
  );
}
