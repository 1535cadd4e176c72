import type { ComponentChildren } from 'preact';
import { visibleText } from '../../src/base/text.ts';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps {
  children: ComponentChildren;
  onClick(): void;
  /** Why the button is disabled. Null if it is enabled. */
  why?: string | null;
  /** The key that triggers the button, shown in it. */
  keyName?: string;
  tone?: 'plain' | 'main' | 'danger' | 'quiet';
  icon?: IconName;
  /** Accessible name, if the visible text does not say enough. */
  label?: string;
  isPressed?: boolean;
}

/** A disabled button can still be focused, so that its reason can be read. */
export function Button(props: ButtonProps) {
  const { children, onClick, why = null, keyName, tone = 'plain', icon, label, isPressed } = props;
  // Hidden characters are made visible, because labels and reasons contain text of agents.
  const name = label && why ? `${label}: ${why}` : label;
  return (
    <button
      type="button"
      class={`button ${tone}`}
      aria-disabled={why !== null || undefined}
      data-key={keyName}
      aria-label={name && visibleText(name)}
      aria-pressed={isPressed}
      title={why === null ? undefined : visibleText(why)}
      onClick={() => why === null && onClick()}
    >
      {icon && <Icon name={icon} />}
      {children}
      {keyName && <kbd>{keyName}</kbd>}
    </button>
  );
}

/** The key that sends a form, in the button that does so. Screen readers get it from `aria-keyshortcuts`. */
export const SubmitKey = () => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a `kbd` cannot be focused
  <kbd aria-hidden="true">Ctrl ↵</kbd>
);
