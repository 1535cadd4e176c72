import type { RunActionName, RunActionShown } from './shown-run.ts';

/** Null: the tab it leads to has a key of its own. */
export const ACTION_KEYS: Record<RunActionName, string | null> = {
  cancel: 'c',
  retry: 'r',
  reply: 'y',
  abandon: 'X',
  approve: 'A',
  send_back: 'B',
  cancel_review: 'E',
  integrate: 'i',
  comment: null,
  attach: 't',
  answer: 'w',
  export: 'S',
  remove_worktree: 'D',
};

/** What everybody looks for is there even when it cannot be done, with its reason; the rest only when it can. */
const ALWAYS: readonly RunActionName[] = ['cancel', 'retry', 'reply'];

export const isShown = ({ action, isPossible }: RunActionShown): boolean =>
  isPossible || ALWAYS.includes(action);
