import { computed } from '@preact/signals';
import { inbox } from './live.ts';

/** Runs that wait for an answer of the user, whatever folder they are of. One that asks twice is one run. */
export const waiting = computed(
  () => new Set(inbox.value.filter(({ owner }) => owner === 'user').map(({ runId }) => runId)),
);
