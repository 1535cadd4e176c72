import { signal } from '@preact/signals';

/** Address of the list of runs as last shown, with its filters; "Back to the runs" leads there. */
export const lastList = signal('/');

/** The run that was opened from the list. Null if there is none, or if the list was shown again since. */
export const lastRun = signal<string | null>(null);
