import { signal } from '@preact/signals';

/** Address of the list of runs as last shown, with its filters; "Back to the runs" leads there. */
export const lastList = signal('/');

/** The run opened from the list; null: none, or the list was shown again since. */
export const lastRun = signal<string | null>(null);
