import { signal } from '@preact/signals';
import type { RunActionName, RunActionShown } from './shown-run.ts';

/** The action whose dialog is open. */
export const asked = signal<{ runId: string; action: RunActionShown } | null>(null);

/** Opens the dialog of an action. */
export const askForAction = (runId: string, action: RunActionShown): void => {
  asked.value = { runId, action };
};

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
