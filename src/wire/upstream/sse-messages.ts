import type { Readable } from 'node:stream';
import { type LinkEvents, UpstreamFault } from './link.ts';
import type { Multiplexer } from './multiplexer.ts';
import { tryParse } from './parse-json.ts';
import { SseParser } from './sse-parser.ts';

/** How far a stream was read, for asking for the rest of it. */
export interface StreamPosition {
  lastEventId: string | null;
  retryMs: number | null;
}

export interface MessageStreamOptions {
  mux: Multiplexer;
  events: LinkEvents;
  maxFrameBytes: number;
  position: StreamPosition;
  /** Nothing more is expected. */
  isDone(): boolean;
  onMessage?: ((message: unknown) => void) | undefined;
  /** What a message over the limit is; a fault of the connection unless it says so. */
  excess?: (maxBytes: number) => UpstreamFault;
}

/** A server may have to close a stream that is done; one that goes on talking is cut off. */
const AFTERWORD_MS = 1000;

/** Reads messages to the end of the stream, also a sudden one. Rejects only for what no server should send. */
export async function readMessages(body: Readable, options: MessageStreamOptions): Promise<void> {
  const { mux, events, position, isDone, onMessage } = options;
  const parser = new SseParser(
    options.maxFrameBytes,
    ({ type, data }) => {
      const message = type === 'message' ? tryParse(data) : undefined;
      if (message === undefined) {
        events.onStray();
        return;
      }
      onMessage?.(message);
      mux.receive(message);
    },
    options.excess,
  );
  let timer: NodeJS.Timeout | undefined;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (!isDone()) parser.push(chunk);
      position.lastEventId = parser.lastEventId ?? position.lastEventId;
      position.retryMs = parser.retryMs ?? position.retryMs;
      if (isDone()) timer ??= setTimeout(() => body.destroy(), AFTERWORD_MS);
    }
  } catch (error) {
    if (error instanceof UpstreamFault) throw error;
    // It broke off. Whoever waits for an answer sees that there was none.
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}
