import type { RefObject } from 'preact';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import type { Binding } from '../../../keys.ts';
import { askToCancel, askToRetry } from '../../../shell/run-action.tsx';
import { card } from '../../../state/live.ts';
import { statusStyle } from '../../../ui/status-style.ts';
import { choiceKeys } from '../../inbox/item-keys.ts';

/** Keys of the list of runs. They act on the row that has the focus. */
export function rowKeys(list: RefObject<HTMLElement | null>, go: (url: string) => void): Binding[] {
  const rows = () => [...(list.current?.querySelectorAll<HTMLElement>('[data-run]') ?? [])];
  const place = () => rows().findIndex(row => row.contains(document.activeElement));
  const current = (): RunCard | undefined => card(rows()[place()]?.dataset.run ?? '').peek();
  const move = (step: number) => {
    const all = rows();
    const at = place();
    const to = at === -1 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
    focus(all[to]);
  };
  const isFailed = (row: HTMLElement) => {
    const known = card(row.dataset.run ?? '').peek();
    return known !== undefined && statusStyle(known.status).tone === 'bad';
  };
  const moveToFailed = (step: 1 | -1) => {
    const all = rows();
    const at = place();
    focus(
      step > 0
        ? all.slice(at + 1).find(isFailed)
        : all.slice(0, at === -1 ? undefined : at).findLast(isFailed),
    );
  };
  const focus = (row: HTMLElement | undefined) => {
    row?.querySelector<HTMLElement>('.run-title')?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: 'nearest' });
  };
  const isAsked = () => current()?.asking != null && current()?.asking?.kind !== 'question';
  // Clicks the button that shows the key. A row without that button needs more reading first, so the inbox is opened.
  const answer = (key: 'y' | 'n') => {
    const button = rows()[place()]?.querySelector<HTMLElement>(`.is-asking [data-key="${key}"]`);
    if (button) button.click();
    else go(`/inbox#${current()!.asking!.id}`);
  };
  return [
    { key: 'j', what: 'Next run', repeats: true, run: () => move(1) },
    { key: 'k', what: 'Previous run', repeats: true, run: () => move(-1) },
    { key: 'down', what: 'Next run', repeats: true, run: () => move(1), when: () => place() !== -1 },
    { key: 'up', what: 'Previous run', repeats: true, run: () => move(-1), when: () => place() !== -1 },
    { key: 'y', what: 'Allow the request of this run, or open it', run: () => answer('y'), when: isAsked },
    { key: 'n', what: 'Deny the request of this run, or open it', run: () => answer('n'), when: isAsked },
    ...choiceKeys(() => rows()[place()]?.querySelector('.is-asking')),
    { key: 'n', what: 'Next failed run', repeats: true, run: () => moveToFailed(1) },
    { key: 'p', what: 'Previous failed run', repeats: true, run: () => moveToFailed(-1) },
    {
      key: 'a',
      what: 'Answer this run',
      run: () => rows()[place()]?.querySelector<HTMLElement>('.run-buttons :is(input, button, a)')?.focus(),
      when: () => current()?.asking != null,
    },
    {
      key: 'c',
      what: 'Cancel this run',
      run: () => askToCancel(current()!),
      when: () => current()?.endedAt === null,
    },
    {
      key: 'r',
      what: 'Retry this run',
      run: () => askToRetry(current()!),
      when: () => (current()?.endedAt ?? null) !== null,
    },
    {
      key: 'o',
      what: 'Output of this run',
      run: () => go(`/r/${current()!.id}/output`),
      when: () => current() !== undefined,
    },
  ];
}
