import type { RunStatus } from '../../src/schema/run.ts';
import type { RunCard } from '../../src/schema/run-card.ts';
import { Icon } from './icon.tsx';
import { type Look, lookOfCard, lookOfStatus } from './status-words.ts';

/** Word, shape and colour: none of them alone. */
export function Status({ card }: { card: Pick<RunCard, 'need' | 'status' | 'isStopping' | 'quiet'> }) {
  return <Shown look={lookOfCard(card)} title={card.quiet?.text} />;
}

export function StatusWord({ status }: { status: RunStatus }) {
  return <Shown look={lookOfStatus(status)} />;
}

function Shown({ look, title }: { look: Look; title?: string }) {
  return (
    <span class={`status tone-${look.tone}`} title={title}>
      <Icon name={look.icon} />
      {look.word}
    </span>
  );
}
