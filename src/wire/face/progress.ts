import type { ProgressToken, ServerContext } from '@modelcontextprotocol/server';

/** Sends progress reports in order, so that a result sent after `finish` cannot overtake them. */
export function progressReporter(
  token: ProgressToken | undefined,
  notify: ServerContext['mcpReq']['notify'],
  signal: AbortSignal,
) {
  const rising = risingProgress();
  let finished = false;
  let queue: Promise<void> = Promise.resolve();

  return {
    report(message: string | undefined, value?: number, total?: number): Promise<void> {
      if (token === undefined || finished || signal.aborted) return queue;
      const params = { progressToken: token, ...rising(value, total), message };
      queue = queue.then(() => notify({ method: 'notifications/progress', params })).catch(ignoreGonePeer);
      return queue;
    },
    /** Ignores further reports. Resolves when earlier ones were sent. */
    finish(): Promise<void> {
      finished = true;
      return queue;
    },
  };
}

/** Makes the progress of one call strictly increasing, as the protocol requires. */
export function risingProgress(): (value?: number, total?: number) => { progress: number; total?: number } {
  let last = -1;
  return (value, total) => {
    last = value !== undefined && Number.isFinite(value) && value > last ? value : last + 1;
    // Leaves out a total that is below the progress, so that no client shows more than 100 %.
    return { progress: last, ...(total !== undefined && total >= last && { total }) };
  };
}

/** An error here means that the client disconnected or cancelled. The signal of the call reports that. */
function ignoreGonePeer(): void {}
