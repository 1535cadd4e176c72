import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import { harmless } from '../../ui/harmless.ts';
import { type DiffPlace, placeName } from './diff-place.ts';

interface CommentBoxProps {
  place: DiffPlace;
  before: string;
  onInput(text: string): void;
  onDone(text: string): void;
  onClose(): void;
}

/** Words on a line. They are kept here until all are sent. */
export function CommentBox({ place, before, onInput, onDone, onClose }: CommentBoxProps) {
  const [text, setText] = useState(before);
  const box = useRef<HTMLTextAreaElement>(null);
  // At once: what is typed next is meant for it, not for keys of the page.
  useLayoutEffect(() => {
    const focused = document.activeElement;
    box.current?.focus();
    return () => {
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus();
    };
  }, []);
  return (
    <div class="diff-box">
      <textarea
        ref={box}
        aria-label={`Comment on ${harmless(placeName(place))}`}
        placeholder="What should the agent do here?"
        maxLength={20_000}
        value={text}
        onInput={event => {
          setText(event.currentTarget.value);
          onInput(event.currentTarget.value);
        }}
        onKeyDown={event => {
          if (event.key === 'Escape') onClose();
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onDone(text);
        }}
      />
      <p class="actions">
        <Button tone="main" keyName="Ctrl ↵" onClick={() => onDone(text)}>
          Keep
        </Button>
        <Button keyName="esc" onClick={onClose}>
          Not now
        </Button>
        <span class="soft">Sent with the others, when you say so. Without words it is taken away.</span>
      </p>
    </div>
  );
}
