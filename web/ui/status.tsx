import type { ShownStatus } from '../../src/schema/shown-status.ts';
import { Icon } from './icon.tsx';
import { type Look, lookOfCard, type ShownCard, statusStyle } from './status-style.ts';

/** Word, shape and colour: none of them alone. */
export function Status({ card }: { card: ShownCard }) {
  return <Shown look={lookOfCard(card)} title={card.quiet?.text} />;
}

export function StatusWord({ status }: { status: ShownStatus }) {
  return <Shown look={statusStyle(status)} />;
}

function Shown({ look, title }: { look: Look; title?: string }) {
  return (
    <span class={`status tone-${look.tone}`} title={title}>
      <Icon name={look.icon} />
      {look.word}
    </span>
  );
}
