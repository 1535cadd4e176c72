import { realTimers, withTimeout } from '../../base/clock.ts';
import { notifyAllListsChanged, reconnectStream, subscribe } from './change-stream.ts';
import { HttpChannel } from './http-channel.ts';
import {
  HttpSession,
  type HttpTarget,
  networkFault,
  readText,
  StatusFault,
  UnreachableFault,
} from './http-session.ts';
import {
  handshakeLegacy,
  handshakeModern,
  type LinkOptions,
  MAX_FRAME_BYTES,
  UpstreamFault,
  type UpstreamHandshake,
  type UpstreamLink,
} from './link.ts';
import { handshakeRefused, Multiplexer, toLink } from './multiplexer.ts';
import { openSseChannel, type StreamPosition } from './sse.ts';

export interface HttpLinkOptions extends LinkOptions, HttpTarget {
  /** `http` is Streamable HTTP of both eras, `sse` the older transport of 2024 with a separate event stream. */
  kind: 'http' | 'sse';
}

const END_SESSION_TIMEOUT_MS = 2000;

/** Opens a link to a server over HTTP. Rejects with an UpstreamFault. */
export async function openHttpLink(options: HttpLinkOptions): Promise<UpstreamLink> {
  const { events, kind, maxFrameBytes = MAX_FRAME_BYTES } = options;
  const session = new HttpSession(options);
  const mux = new Multiplexer(events);
  const over = new AbortController();
  const shared = { session, mux, events, maxFrameBytes, over: over.signal };
  const gone = mux.closed.then(async () => {
    over.abort();
    await endSession(session);
    session.close();
  });

  function close(): Promise<void> {
    mux.end(new UpstreamFault('transport', 'The link was closed.'));
    return gone;
  }

  try {
    if (kind === 'sse') {
      const { startTimeoutMs, signal } = options;
      // The timeout also covers the first event: a server that does not send it counts as not answering.
      const opening = withTimeout(openSseChannel(shared), realTimers, startTimeoutMs, signal, isLate =>
        isLate
          ? new UpstreamFault('timeout', 'The server did not begin within the time limit.')
          : new UpstreamFault('cancelled', 'The start was cancelled.'),
      );
      mux.attach(await opening);
      return toLink(mux, await handshakeOrRefusal(mux, options), close);
    }
    const channel = new HttpChannel(shared);
    mux.attach(channel);
    const handshake = await negotiate(mux, options);
    if (handshake.era === 'modern') void subscribe(mux, handshake.capabilities, events, over.signal);
    else {
      session.protocolVersion = handshake.protocolVersion;
      const position: StreamPosition = { lastEventId: null, retryMs: null };
      void reconnectStream(
        () => channel.listen(position),
        () => notifyAllListsChanged(handshake.capabilities, events),
        over.signal,
      );
    }
    return toLink(mux, handshake, close);
  } catch (error) {
    const fault = networkFault(error, session.url.host);
    await close();
    throw fault instanceof UnreachableFault
      ? new UpstreamFault('start', fault.message, { cause: fault })
      : fault;
  }
}

/**
 * Tries the modern handshake first. After a temporary or authorization error the era stays unknown; any other error
 * means legacy.
 */
async function negotiate(mux: Multiplexer, options: HttpLinkOptions): Promise<UpstreamHandshake> {
  const startedAt = performance.now();
  try {
    return await handshakeModern(mux, { ...options, startTimeoutMs: options.startTimeoutMs / 2 });
  } catch (fault) {
    const isVerdict =
      fault instanceof UpstreamFault &&
      !(fault instanceof StatusFault && fault.isPassing) &&
      !(fault.kind === 'unauthorized' || fault.kind === 'cancelled');
    if (mux.fault || !isVerdict) throw mux.fault ?? fault;
  }
  const left = options.startTimeoutMs - (performance.now() - startedAt);
  return handshakeOrRefusal(mux, { ...options, startTimeoutMs: Math.max(left, 1) });
}

async function handshakeOrRefusal(mux: Multiplexer, options: LinkOptions): Promise<UpstreamHandshake> {
  return handshakeLegacy(mux, options).catch(fault => {
    throw fault instanceof UpstreamFault && fault.kind === 'answer' ? handshakeRefused(fault) : fault;
  });
}

/** Tells the server that it can free the session. */
async function endSession(session: HttpSession): Promise<void> {
  if (session.sessionId === null) return;
  await session
    .ask('DELETE', { signal: AbortSignal.timeout(END_SESSION_TIMEOUT_MS) })
    .then(({ body }) => readText(body, 1024))
    .catch(() => {});
}
