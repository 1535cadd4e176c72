import type { ShownStatus } from '../../src/schema/shown-status.ts';
import { Icon } from './icon.tsx';
import { cardStyle, type ShownCard, type StatusStyle, statusStyle } from './status-style.ts';

/** The status of a run as word, icon and colour together, because none of them is enough alone. */
export function Status({ card }: { card: ShownCard }) {
  return <StatusMark style={cardStyle(card)} title={card.quiet?.text} />;
}

export function StatusWord({ status }: { status: ShownStatus }) {
  return <StatusMark style={statusStyle(status)} />;
}

export function StatusMark({ style, title }: { style: StatusStyle; title?: string }) {
  return (
    <span class={`status tone-${style.tone}`} title={title}>
      <Icon name={style.icon} />
      {style.word}
    </span>
  );
}
