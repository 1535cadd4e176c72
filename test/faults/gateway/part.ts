/** One way to try the gateway, and what came of it. */
export interface PartReport {
  name: string;
  /** In numbers, for whoever reads along. */
  told: string;
  problems: string[];
  ms: number;
}

/** The first few of each kind say enough. */
const MOST_TOLD = 20;

export function partLines({ name, told, problems, ms }: PartReport): string {
  const line = `${name}: ${told}; ${(ms / 1000).toFixed(1)} s`;
  if (problems.length === 0) return `ok   ${line}`;
  const more = problems.length > MOST_TOLD ? [`     … and ${problems.length - MOST_TOLD} more`] : [];
  return [`FAIL ${line}`, ...problems.slice(0, MOST_TOLD).map(problem => `     ${problem}`), ...more].join(
    '\n',
  );
}
