/** How often a side of the live feed gives a sign, and after how long without one it is taken for gone. */
export const BEAT_MS = 15_000;
export const SILENT_MS = 35_000;
