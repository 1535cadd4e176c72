import type { ProgressToken, ServerContext } from '@modelcontextprotocol/server';

export interface ProgressReporter {
  report(message: string, value?: number, total?: number): Promise<void>;
  /** No more reports; settles when those already made are on their way. */
  finish(): Promise<void>;
}

/** Reports go out one after the other, so that the result sent after `finish` can overtake none of them. */
export function progressReporter(
  token: ProgressToken | undefined,
  notify: ServerContext['mcpReq']['notify'],
  signal: AbortSignal,
): ProgressReporter {
  let last = -1;
  let finished = false;
  let queue: Promise<void> = Promise.resolve();

  return {
    report(message, value, total) {
      if (token === undefined || finished || signal.aborted) return queue;
      last = value !== undefined && Number.isFinite(value) && value > last ? value : last + 1;
      const params = {
        progressToken: token,
        progress: last,
        // A value we had to move may have passed the total; a bar over 100 % is worse than no bar.
        ...(total !== undefined && total >= last && { total }),
        message,
      };
      queue = queue.then(() => notify({ method: 'notifications/progress', params })).catch(ignoreGonePeer);
      return queue;
    },
    finish() {
      finished = true;
      return queue;
    },
  };
}

/** The peer went away or cancelled: the call's own signal says so already. */
function ignoreGonePeer(): void {}
