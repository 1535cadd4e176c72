import { useState } from 'preact/hooks';
import type { InboxItem } from '../../../src/schema/inbox.ts';
import { Button } from '../../ui/button.tsx';
import { harmless } from '../../ui/harmless.ts';
import { AnswerForm } from './answer-form.tsx';
import { sendAnswer } from './send-answer.ts';

/** By a form, a yes or no, one of some choices, or words. */
export function AnswerBox({ item }: { item: InboxItem }) {
  if (item.fields.length > 0) return <AnswerForm item={item} />;
  if (item.kind !== 'question')
    return (
      <p class="ask-answers">
        <Button tone="main" keyName="y" onClick={() => void sendAnswer(item.id, 'yes')}>
          allow
        </Button>
        <Button tone="danger" keyName="n" onClick={() => void sendAnswer(item.id, 'no')}>
          deny
        </Button>
      </p>
    );
  if (item.choices.length === 0) return <Words item={item} />;
  return (
    <p class="ask-answers">
      {item.choices.map((choice, index) => (
        <Button
          key={choice}
          keyName={index < 9 ? String(index + 1) : undefined}
          onClick={() => void sendAnswer(item.id, choice)}
        >
          {harmless(choice)}
        </Button>
      ))}
    </p>
  );
}

function Words({ item }: { item: InboxItem }) {
  const [words, setWords] = useState('');
  const [isSending, setSending] = useState(false);
  const send = async () => {
    if (words.trim() === '' || isSending) return;
    setSending(true);
    if (await sendAnswer(item.id, words.trim())) setWords('');
    setSending(false);
  };
  return (
    <form
      class="ask-words"
      onSubmit={event => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        rows={2}
        aria-label="Your answer"
        placeholder="your answer"
        value={words}
        onInput={event => setWords(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void send();
        }}
      />
      <button type="submit" class="button main" aria-disabled={isSending || words.trim() === '' || undefined}>
        send <kbd>Ctrl enter</kbd>
      </button>
    </form>
  );
}
