import type { RunActionName, RunActionShown } from './shown-run.ts';

export const ACTION_KEYS: Record<RunActionName, string> = {
  cancel: 'c',
  retry: 'r',
  reply: 'y',
  abandon: 'X',
  approve: 'A',
  send_back: 'B',
  cancel_review: 'E',
  integrate: 'i',
  comment: 'M',
  attach: 't',
  answer: 'w',
  export: 'S',
  remove_worktree: 'D',
};

/** What goes on with the work first, what only looks at it next, what ends it last: always in the same place. */
const ORDER: readonly RunActionName[] = [
  ...(['answer', 'approve', 'send_back', 'cancel_review', 'reply', 'retry', 'integrate', 'comment'] as const),
  ...(['attach', 'export', 'remove_worktree', 'cancel', 'abandon'] as const),
];

export const inOrder = (actions: readonly RunActionShown[]): RunActionShown[] =>
  actions.toSorted((a, b) => ORDER.indexOf(a.action) - ORDER.indexOf(b.action));

/** What everybody looks for is there even when it cannot be done, with its reason; the rest only when it can. */
const ALWAYS: readonly RunActionName[] = ['cancel', 'retry', 'reply'];

export const isShown = ({ action, isPossible }: RunActionShown): boolean =>
  isPossible || ALWAYS.includes(action);
