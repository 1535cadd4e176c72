import type { RefObject } from 'preact';
import type { RunCard } from '../../../src/schema/run-card.ts';
import type { Binding } from '../../keys.ts';
import { askToCancel, askToRetry } from '../../shell/run-action.tsx';
import { card } from '../../state/live.ts';
import { sendAnswer } from '../inbox/send-answer.ts';

/** Keys act on the row the focus is in. */
export function rowKeys(list: RefObject<HTMLElement | null>, go: (url: string) => void): Binding[] {
  const rows = () => [...(list.current?.querySelectorAll<HTMLElement>('[data-run]') ?? [])];
  const place = () => rows().findIndex(row => row.contains(document.activeElement));
  const current = (): RunCard | undefined => card(rows()[place()]?.dataset.run ?? '').peek();
  const move = (step: number) => {
    const all = rows();
    const at = place();
    const to = at === -1 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
    const row = all[to];
    row?.querySelector<HTMLElement>('.run-title')?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: 'nearest' });
  };
  const isAsked = () => current()?.asking != null && current()?.asking?.kind !== 'question';
  const answer = (words: string) => {
    const asking = current()?.asking;
    if (asking) void sendAnswer(asking.id, words);
  };
  return [
    { key: 'j', what: 'Next run', run: () => move(1) },
    { key: 'k', what: 'Previous run', run: () => move(-1) },
    { key: 'down', what: 'Next run', run: () => move(1), when: () => place() !== -1 },
    { key: 'up', what: 'Previous run', run: () => move(-1), when: () => place() !== -1 },
    { key: 'y', what: 'Allow what this run asks for', run: () => answer('yes'), when: isAsked },
    { key: 'n', what: 'Deny what this run asks for', run: () => answer('no'), when: isAsked },
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
