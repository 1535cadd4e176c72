import { signal } from '@preact/signals';

/** Address of the list of runs as last shown, with its filters; "Back to the runs" leads there. */
export const lastList = signal('/');

/** Id of the run that was last opened from the list. Null if none was, or if the list was shown again since then. */
export const lastRun = signal<string | null>(null);
