import { useMemo } from 'preact/hooks';
import { hiddenWarning } from '../../src/base/text.ts';
import { Icon } from './icon.tsx';

/** Counts and names the hidden characters of a text, so that the user knows before deciding about it. */
export function HiddenWarning({ text, where }: { text: string; where: string }) {
  const warning = useMemo(() => hiddenWarning(text, where), [text, where]);
  if (warning === null) return null;
  return (
    <p class="tone-ask hidden-warning">
      <Icon name="warn" /> {warning}
    </p>
  );
}
