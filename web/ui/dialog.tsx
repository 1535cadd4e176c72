import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Copy } from './copy.tsx';

export interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}

/** Modal, by the browser's own: focus stays inside and goes back afterwards, esc closes. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: esc does what a click beside the dialog does
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onClose={onClose}
      onCancel={onClose}
      onClick={event => event.target === dialog.current && onClose()}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export interface ConfirmProps {
  title: string;
  /** What will happen, before it does. */
  effect: string;
  /** The same in a terminal. */
  command: string | null;
  /** The words of the button: what it does. */
  yes: string;
  tone?: 'main' | 'danger';
  onYes(): void;
  onClose(): void;
  /** Something to fill in. */
  children?: ComponentChildren;
}

export function Confirm(props: ConfirmProps) {
  const { title, effect, command, yes, tone = 'danger', onYes, onClose, children } = props;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!children) button.current?.focus();
  }, []);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        method="dialog"
        onSubmit={event => {
          event.preventDefault();
          onYes();
          onClose();
        }}
      >
        <p>{effect}</p>
        {children}
        {command && (
          <p class="twin">
            <span>In a terminal</span> <Copy text={command} label="command" isShown />
          </p>
        )}
        <p class="actions">
          <button type="button" class="button" onClick={onClose}>
            Not now
          </button>
          <button ref={button} type="submit" class={`button ${tone}`}>
            {yes}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
