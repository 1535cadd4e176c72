/** Interval of the live feed's heartbeats, and the silence after which the other side counts as gone. */
export const BEAT_MS = 15_000;
export const SILENT_MS = 35_000;
