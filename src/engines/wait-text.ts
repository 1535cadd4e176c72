/** When an API is asked again, as the end of a sentence; nothing where that is at once or unknown. */
export const waitWords = (waitMs: number | null): string =>
  waitMs === null || waitMs < 1_000 ? '' : ` in ${Math.round(waitMs / 1_000)} s`;
