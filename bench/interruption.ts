const asked = new AbortController();

/** Fires when the user wants the run to end: what is being measured breaks off there, and cleans up as it always does. */
export const interruption: AbortSignal = asked.signal;

export function listenForInterruption(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (!asked.signal.aborted) console.error('\nEnding the agents and removing what was written…');
      asked.abort(new Error('Interrupted'));
    });
}
