import { signal } from '@preact/signals';
import { visibleText } from '../../src/base/text.ts';
import { WithCode } from './with-code.tsx';

interface Toast {
  id: number;
  text: string;
  href?: string;
}

const SHOWN_MS = 6_000;
const MAX_TOASTS = 4;

const toasts = signal<Toast[]>([]);
let last = 0;

/** Shows a short message about something done in the background. */
export function toast(text: string, { href }: { href?: string } = {}): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, text: visibleText(text), href }].slice(-MAX_TOASTS);
  setTimeout(() => remove(id), SHOWN_MS);
}

const remove = (id: number) => {
  toasts.value = toasts.value.filter(one => one.id !== id);
};

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, href }) => (
        <p key={id} class="toast">
          {href ? (
            <a href={href}>
              <WithCode text={text} />
            </a>
          ) : (
            <WithCode text={text} />
          )}
          <button type="button" class="button quiet" aria-label="Close" onClick={() => remove(id)}>
            ×
          </button>
        </p>
      ))}
    </div>
  );
}
