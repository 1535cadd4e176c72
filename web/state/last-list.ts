import { signal } from '@preact/signals';

/** The list of runs as it was last looked at, filters and all: where the way back leads. */
export const lastList = signal('/');

/** The run that was opened since; null: none, or the list has been seen again. */
export const lastRun = signal<string | null>(null);
