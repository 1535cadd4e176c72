import type { InboxItem } from '../../../src/schema/inbox.ts';
import { useDraft } from '../../state/draft.ts';
import { Button } from '../../ui/button.tsx';
import { disambiguate } from '../../ui/disambiguate.ts';
import { AnswerForm } from './answer-form.tsx';
import { Decline } from './decline.tsx';
import { type Answering, useAnswering } from './use-answering.ts';
import type { Seen } from './use-seen.ts';

export interface AnswerProps {
  item: InboxItem;
  answering: Answering;
}

interface AnswerBoxProps {
  item: InboxItem;
  /** How the item was closed. Null if it is open. */
  settled: string | null;
  seen: Seen;
}

/** Answer by form, yes or no, choice or text. A closed item stays visible and accepts no answer. */
export function AnswerBox({ item, settled, seen }: AnswerBoxProps) {
  const answering = useAnswering(item.id, settled);
  if (item.fields.length > 0) return <AnswerForm {...{ item, answering }} />;
  if (item.kind === 'question' && item.choices.length === 0) return <Words {...{ item, answering }} />;
  return (
    <p class="ask-answers">
      {item.kind === 'question' ? (
        <Choices {...{ item, answering }} />
      ) : (
        <YesOrNo {...{ item, answering, seen }} />
      )}
    </p>
  );
}

/** Deny works at once; allow only after the whole request was visible. */
function YesOrNo({ item, answering: { why, send }, seen }: AnswerProps & { seen: Seen }) {
  const whyNot = why ?? (seen.isSeen ? null : 'Scroll to the end first');
  return (
    <>
      <button
        type="button"
        class="button main"
        data-key="y"
        aria-disabled={whyNot !== null || undefined}
        title={whyNot ?? undefined}
        onClick={() => {
          if (whyNot === null) void send('yes');
          else if (!seen.isSeen) seen.show();
        }}
      >
        allow <kbd>y</kbd>
      </button>
      {item.choices.includes('always') && (
        <Button why={whyNot} onClick={() => void send('always')}>
          allow in this run
        </Button>
      )}
      <Button tone="danger" keyName="n" why={why} onClick={() => void send('no')}>
        deny
      </Button>
      {why === null && seen.isSeen === false && <span class="soft">Scroll to the end to allow it.</span>}
    </>
  );
}

function Choices({ item: { choices }, answering: { why, send } }: AnswerProps) {
  const shown = disambiguate(choices);
  return (
    <>
      {choices.map((choice, index) => (
        <Button
          key={index}
          keyName={index < 9 ? String(index + 1) : undefined}
          why={why}
          onClick={() => void send(choice)}
        >
          {shown[index]}
        </Button>
      ))}
      <Decline {...{ why, send }} />
    </>
  );
}

function Words({ item, answering: { why, send } }: AnswerProps) {
  const [text, setText, forget] = useDraft(`answer:${item.id}`);
  const submit = async () => {
    if (text.trim() !== '' && (await send(text.trim()))) forget();
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
        value={text}
        onInput={event => setText(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.repeat || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void submit();
        }}
      />
      <p class="ask-answers">
        <button
          type="submit"
          class="button main"
          title={why ?? undefined}
          aria-disabled={why !== null || text.trim() === '' || undefined}
        >
          send <kbd>Ctrl enter</kbd>
        </button>
        <Decline {...{ why, send }} />
      </p>
    </form>
  );
}
