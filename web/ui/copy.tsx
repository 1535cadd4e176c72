import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';
import { toast } from './toast.tsx';

const SAID_MS = 1_500;

export interface CopyProps {
  text: string;
  /** Name of the copied text: `run id`, `command`. */
  label: string;
  /** True if the text is shown in the button. */
  isShown?: boolean;
}

export function Copy({ text, label, isShown = false }: CopyProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), SAID_MS);
    } catch {
      toast(`The browser blocked copying: ${text}`);
    }
  };
  return (
    <button type="button" class="copy" title={`Copy ${label}`} aria-label={`Copy ${label}`} onClick={copy}>
      {isShown && <code>{text}</code>}
      <Icon name={isCopied ? 'check' : 'copy'} class={isCopied ? 'tone-good' : ''} />
    </button>
  );
}

/** A command to run in a terminal, shown and copied on click. */
export function Command({ text }: { text: string }) {
  return <Copy text={text} label="command" isShown />;
}
