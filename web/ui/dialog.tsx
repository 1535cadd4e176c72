import { type ComponentChildren, toChildArray } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { visibleText } from '../../src/base/text.ts';
import { type ApiError, asApiError } from '../state/api.ts';
import { SubmitKey } from './button.tsx';
import { Command } from './copy.tsx';
import { useModal } from './modal.ts';
import { Problem } from './problem.tsx';

export interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}

/** A native modal dialog: focus stays inside and returns afterwards, esc closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useModal(onClose);
  const id = useId();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: esc does what a click beside the dialog does
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      // Ignore the second click of a double click on the button that opened the dialog.
      onClick={event => event.target === dialog.current && event.detail < 2 && onClose()}
    >
      <div class="dialog-body">
        <h2 id={id}>{visibleText(title)}</h2>
        {children}
      </div>
    </dialog>
  );
}

export interface ConfirmProps {
  title: string;
  /** Effect of the action, shown to the user. */
  effect: string;
  /** Terminal command that does the same. Null if there is none. */
  command: string | null;
  /** Label of the button that confirms. */
  yes: string;
  tone?: 'main' | 'danger';
  /** The dialog stays open until the promise resolves, and shows its error if it rejects. */
  onYes(): unknown;
  onClose(): void;
  /** Optional fields to fill in. */
  children?: ComponentChildren;
}

export function Confirm(props: ConfirmProps) {
  const { title, effect, command, yes, tone = 'danger', onYes, onClose, children } = props;
  const isUnderWay = useRef(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const carryOut = async () => {
    if (isUnderWay.current) return;
    const done = onYes();
    if (!(done instanceof Promise)) return onClose();
    isUnderWay.current = true;
    setBusy(true);
    setError(null);
    try {
      await done;
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
    }
    isUnderWay.current = false;
    setBusy(false);
  };
  const hasFields = toChildArray(children).length > 0;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        method="dialog"
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          event.currentTarget.requestSubmit();
        }}
        onSubmit={event => {
          event.preventDefault();
          void carryOut();
        }}
      >
        <p>{effect}</p>
        {children}
        {error && <Problem error={error} />}
        {command && (
          <p class="twin">
            <span>In a terminal</span> <Command text={command} />
          </p>
        )}
        <p class="actions">
          <button type="button" class="button" onClick={onClose}>
            Not now
          </button>
          <button
            type="submit"
            // `autofocus` moves the focus while the dialog opens, so that no key press comes before.
            autofocus={!hasFields}
            class={`button ${tone}`}
            aria-disabled={isBusy || undefined}
            aria-keyshortcuts="Control+Enter"
            title={isBusy ? 'In progress' : undefined}
          >
            {yes}
            {hasFields && <SubmitKey />}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
