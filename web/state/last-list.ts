import { signal } from '@preact/signals';

/** The list of runs as it was last looked at, filters and all: where the way back leads. */
export const lastList = signal('/');
