import type { ProgressToken, ServerContext } from '@modelcontextprotocol/server';

/** Reports go out one after the other, so that the result sent after `finish` can overtake none of them. */
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
    /** No more reports; settles when those already made are on their way. */
    finish(): Promise<void> {
      finished = true;
      return queue;
    },
  };
}

/** Makes what is reported of one call rise from notice to notice, as clients may rely on. */
export function risingProgress(): (value?: number, total?: number) => { progress: number; total?: number } {
  let last = -1;
  return (value, total) => {
    last = value !== undefined && Number.isFinite(value) && value > last ? value : last + 1;
    // A value we had to move may have passed the total; a bar over 100 % is worse than no bar.
    return { progress: last, ...(total !== undefined && total >= last && { total }) };
  };
}

/** The peer went away or cancelled: the call's own signal says so already. */
function ignoreGonePeer(): void {}
