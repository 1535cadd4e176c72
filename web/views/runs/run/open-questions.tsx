import '../../inbox/inbox.css';
import { useRef } from 'preact/hooks';
import { visibleText } from '../../../../src/base/text.ts';
import type { InboxItem } from '../../../../src/schema/inbox.ts';
import { useKeys } from '../../../keys.ts';
import { closedItem } from '../../../state/closed-items.ts';
import { inbox } from '../../../state/live.ts';
import { useHeldOrder } from '../../../ui/held-order.ts';
import { Icon } from '../../../ui/icon.tsx';
import { Ago } from '../../../ui/time.tsx';
import { AnswerBox } from '../../inbox/answer-box.tsx';
import { Asked } from '../../inbox/asked.tsx';
import { CLOSED_STYLES, closedState } from '../../inbox/closed-text.ts';
import { answerKeys } from '../../inbox/item-keys.ts';
import { Outcome } from '../../inbox/outcome.tsx';
import { useSeen } from '../../inbox/use-seen.ts';

/** Open questions of the run, to be answered here. */
export function OpenQuestions({ runId }: { runId: string }) {
  const open = inbox.value.filter(item => item.runId === runId);
  const known = useRef(new Map<string, InboxItem>());
  for (const item of open) known.current.set(item.id, item);
  const held = useHeldOrder<HTMLElement>(open.map(({ id }) => id).join(' '), runId);
  useKeys(answerKeys(() => meant(held.list.current)));
  if (held.ids.length === 0) return null;
  return (
    <section class="open-questions" aria-label="Open questions" ref={held.list} {...held.hold}>
      {held.ids.length > 1 && <p class="soft">Keyboard shortcuts answer the focused question.</p>}
      {held.ids.map(id => (
        <OpenQuestion
          key={id}
          item={known.current.get(id)!}
          settled={open.some(item => item.id === id) ? null : (closedItem(id) ?? 'unknown')}
        />
      ))}
    </section>
  );
}

interface OpenQuestionProps {
  item: InboxItem;
  settled: InboxItem | 'unknown' | null;
}

function OpenQuestion({ item, settled }: OpenQuestionProps) {
  const seen = useSeen();
  const became = settled === 'unknown' || settled === null ? undefined : settled;
  return (
    <div class="open-question" data-item={item.id} tabIndex={-1}>
      <p class="tone-ask">
        <Icon name="hand" /> {item.kind === 'question' ? 'Question' : 'Permission request'}
        {item.source && <> via {visibleText(item.source)}</>} ·{' '}
        {settled ? (
          <Outcome item={became} />
        ) : (
          <span class="soft">
            {item.default === null
              ? 'continues without an answer'
              : `default answer “${visibleText(item.default)}”`}{' '}
            <Ago at={item.deadlineAt} />
          </span>
        )}
      </p>
      <Asked {...{ item, seen }} />
      <AnswerBox {...{ item, seen }} settled={settled && CLOSED_STYLES[closedState(became)].word} />
    </div>
  );
}

/** The question with the focus. If none has it, the only question, provided it is visible. */
function meant(list: HTMLElement | null): Element | null {
  const all = [...(list?.querySelectorAll('[data-item]') ?? [])];
  const focused = all.find(one => one.contains(document.activeElement));
  if (focused || all.length !== 1) return focused ?? null;
  const { top, bottom } = all[0]!.getBoundingClientRect();
  return bottom > 0 && top < innerHeight ? all[0]! : null;
}
