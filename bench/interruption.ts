const asked = new AbortController();

/** Aborted when the user interrupts the benchmark. The current measurement then stops and cleans up as usual. */
export const interruption: AbortSignal = asked.signal;

export function listenForInterruption(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (!asked.signal.aborted) console.error('\nEnding the agents and removing what was written…');
      asked.abort(new Error('Interrupted'));
    });
}
