import type { ComponentChildren } from 'preact';
import { visibleText } from '../../src/base/text.ts';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps {
  children: ComponentChildren;
  onClick(): void;
  /** Why it cannot be pressed now; null or left out: it can. */
  why?: string | null;
  /** The key that does the same, shown beside the words. */
  keyName?: string;
  tone?: 'plain' | 'main' | 'danger' | 'quiet';
  icon?: IconName;
  /** What it is called where its words do not say enough. */
  label?: string;
  isPressed?: boolean;
}

/** One that cannot be pressed can still be reached, so that its reason can be read. */
export function Button(props: ButtonProps) {
  const { children, onClick, why = null, keyName, tone = 'plain', icon, label, isPressed } = props;
  // Labels and reasons quote what agents wrote.
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
