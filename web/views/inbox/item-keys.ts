import type { RefObject } from 'preact';
import type { Binding } from '../../keys.ts';
import { inbox } from '../../state/live.ts';
import { sendAnswer } from './send-answer.ts';

/** Keys act on the item the focus is in. */
export function itemKeys(list: RefObject<HTMLElement | null>): Binding[] {
  const all = () => [...(list.current?.querySelectorAll<HTMLElement>('[data-item]') ?? [])];
  const place = () => all().findIndex(one => one.contains(document.activeElement));
  const current = () => inbox.peek().find(({ id }) => id === all()[place()]?.dataset.item);
  const move = (step: number) => {
    const items = all();
    const at = place();
    items[at === -1 ? 0 : Math.min(Math.max(at + step, 0), items.length - 1)]?.focus();
  };
  const isYesOrNo = () => (current()?.kind ?? 'question') !== 'question' && current()?.fields.length === 0;
  const choice = (index: number) => (current()?.fields.length === 0 ? current()?.choices[index] : undefined);
  return [
    { key: 'j', what: 'Next question', run: () => move(1) },
    { key: 'k', what: 'Previous question', run: () => move(-1) },
    { key: 'y', what: 'Allow', run: () => void sendAnswer(current()!.id, 'yes'), when: isYesOrNo },
    { key: 'n', what: 'Deny', run: () => void sendAnswer(current()!.id, 'no'), when: isYesOrNo },
    ...Array.from({ length: 9 }, (_, index) => ({
      key: String(index + 1),
      what: `Answer: choice ${index + 1}`,
      run: () => void sendAnswer(current()!.id, choice(index)!),
      when: () => choice(index) !== undefined && !isYesOrNo(),
    })),
    {
      key: 'a',
      what: 'Answer in words',
      run: () => all()[place()]?.querySelector<HTMLElement>('textarea, input, select')?.focus(),
      when: () => all()[place()]?.querySelector('textarea, input, select') != null,
    },
  ];
}
