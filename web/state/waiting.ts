import { computed } from '@preact/signals';
import { inbox } from './live.ts';

/** Number of runs in all workspaces that wait for an answer of the user. A run with two questions counts once. */
export const waiting = computed(
  () => new Set(inbox.value.filter(({ owner }) => owner === 'user').map(({ runId }) => runId)),
);
