import type { RefObject } from 'preact';
import type { Binding } from '../../keys.ts';

/** Keys of the inbox. They act on the focused item. */
export function itemKeys(list: RefObject<HTMLElement | null>): Binding[] {
  const all = () => [...(list.current?.querySelectorAll<HTMLElement>('[data-item]') ?? [])];
  const place = () => all().findIndex(one => one.contains(document.activeElement));
  const current = () => all()[place()];
  const move = (step: number) => {
    const items = all();
    const at = place();
    items[at === -1 ? 0 : Math.min(Math.max(at + step, 0), items.length - 1)]?.focus();
  };
  const box = () => current()?.querySelector<HTMLElement>('textarea, input, select');
  return [
    { key: 'j', what: 'Next question', repeats: true, run: () => move(1), when: () => all().length > 0 },
    { key: 'k', what: 'Previous question', repeats: true, run: () => move(-1), when: () => all().length > 0 },
    ...answerKeys(current),
    { key: 'a', what: 'Write an answer', run: () => box()?.focus(), when: () => box() != null },
  ];
}

/** A key clicks the button that shows it, if there is one. */
export function answerKeys(current: Current): Binding[] {
  return [press(current, 'y', 'Allow'), press(current, 'n', 'Deny'), ...choiceKeys(current)];
}

export const choiceKeys = (current: Current): Binding[] =>
  Array.from({ length: 9 }, (_, at) => press(current, String(at + 1), `Answer: choice ${at + 1}`));

type Current = () => Element | null | undefined;

function press(current: Current, key: string, what: string): Binding {
  const button = () => current()?.querySelector<HTMLElement>(`[data-key="${key}"]`);
  return { key, what, run: () => button()?.click(), when: () => button() != null };
}
