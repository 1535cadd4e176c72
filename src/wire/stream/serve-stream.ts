import type { Readable, Writable } from 'node:stream';
import {
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  type ProtocolError,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Audience, Era, Face } from '../face/face.ts';
import { everyone, FaceServer } from '../face/face-server.ts';
import { invalidParams } from '../face/protocol-errors.ts';
import {
  type DirectCall,
  directAnswer,
  isDirect,
  MODERN_REVISION,
  type PlainRequest,
} from '../http/direct-answer.ts';
import type { Refusal } from './message-lines.ts';
import { StreamTransport } from './stream-transport.ts';

/**
 * Refuses two requests that the SDK accepts on a stream. The SDK treats `server/discover` without a version as the
 * start of a legacy connection, although older revisions do not have that method. It also does not check the version of
 * a request once the connection uses the current revision.
 */
function unsupportedVersion(message: JSONRPCMessage): Refusal | null {
  if (!('method' in message && 'id' in message)) return null;
  const version = message.params?._meta?.[PROTOCOL_VERSION_META_KEY];
  if (version === undefined)
    return message.method === 'server/discover'
      ? refusal(message.id, invalidParams(`Invalid params: no ${PROTOCOL_VERSION_META_KEY} in _meta`))
      : null;
  if (typeof version !== 'string' || version === MODERN_REVISION) return null;
  return refusal(
    message.id,
    new UnsupportedProtocolVersionError({ supported: [MODERN_REVISION], requested: version }),
  );
}

const refusal = (id: string | number, { code, message, data }: ProtocolError): Refusal => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data !== undefined && { data }) },
});

export interface StreamOptions {
  input: Readable;
  output: Writable;
  build(info: { era: Era }): Face;
  maxLineBytes?: number;
  /** Timeout for calls to finish after the client has ended its input. Then the connection closes. */
  drainMs?: number;
  /**
   * Called after the last answer. The connection stays open until this promise resolves, but no longer than
   * `drainMs`.
   */
  untilGone?(): Promise<void>;
  /** Called with the number of unanswered requests, whenever it changes. */
  onInFlight?(count: number): void;
  onError?(error: Error): void;
}

export interface StreamConnection extends Audience {
  closed: Promise<void>;
  /**
   * Closes the connection now: calls in flight are aborted and get no answer. To let them finish, wait for `inFlight()
   * === 0` first.
   */
  close(): Promise<void>;
  inFlight(): number;
}

const DEFAULT_MAX_LINE_BYTES = 32 * 1024 * 1024;
const DEFAULT_DRAIN_MS = 1000;

/**
 * Serves one client over a pair of streams. The first message shows whether the client uses the legacy or the modern
 * protocol.
 */
export function serveStream(options: StreamOptions): StreamConnection {
  const ended = new AbortController();
  let current: FaceServer | null = null;
  let lastCount = 0;

  const transport = new StreamTransport({
    input: options.input,
    output: options.output,
    maxLineBytes: options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES,
    drainMs: options.drainMs ?? DEFAULT_DRAIN_MS,
    onInputEnd: () => ended.abort(new Error('The client ended its input')),
    onAnswered: async () => options.untilGone?.(),
    onInFlight: count => {
      if (count !== lastCount) options.onInFlight?.(count);
      lastCount = count;
    },
    direct,
    refuse: message => (current?.era === 'legacy' ? null : unsupportedVersion(message)),
  });
  /** Before the handshake the client is unknown, so every request goes through the SDK. */
  function direct(request: PlainRequest) {
    const server = current;
    if (server?.era !== request.era || !isDirect(request, server.face)) return null;
    if (request.era === 'legacy' && !server.getClientVersion()) return null;
    const peer = request.peer ?? server.streamPeer();
    return (call: DirectCall) => directAnswer(request, server.face, peer, call);
  }
  const build = ({ era }: { era: Era }) => {
    current = new FaceServer(options.build({ era }), era, { inputEnded: ended.signal });
    return current;
  };
  const handle = serveStdio(build, { transport, onerror: options.onError });

  return {
    closed: transport.closed,
    close: async () => {
      await handle.close();
      await transport.closed;
    },
    inFlight: () => transport.inFlight,
    ...everyone(() => (current ? [current.audience] : [])),
  };
}
