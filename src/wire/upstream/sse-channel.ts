import { type Channel, cancelNotice } from './channel.ts';
import { readText } from './http-exchange.ts';
import { networkFault, StatusFault, UnreachableFault } from './http-fault.ts';
import { type HttpSession, isType } from './http-session.ts';
import { type Json, type LinkEvents, UpstreamFault } from './link.ts';
import type { Multiplexer } from './multiplexer.ts';
import { tryParse } from './parse-json.ts';
import { SseParser } from './sse-parser.ts';

export interface SseChannelOptions {
  session: HttpSession;
  mux: Multiplexer;
  events: LinkEvents;
  maxFrameBytes: number;
  over: AbortSignal;
}

const MOST_OF_A_REFUSAL = 64 * 1024;

/** The HTTP of 2024: everything comes on one stream, whose first event says where to send to. Settles once that is known. */
export async function openSseChannel(options: SseChannelOptions): Promise<Channel> {
  const { session, mux, over } = options;
  const answer = await session.ask('GET', { headers: { accept: 'text/event-stream' }, signal: over });
  if (answer.status !== 200) {
    answer.body.destroy();
    throw new StatusFault(answer.status, answer.headers);
  }
  if (!isType(answer, 'text/event-stream')) {
    answer.body.destroy();
    throw new UpstreamFault('transport', 'The server answered with something that is no stream of events.');
  }
  const url = await endpointOf(options, answer.body);

  const channel: Channel = {
    async send(message) {
      const id = typeof message.method === 'string' && typeof message.id === 'number' ? message.id : null;
      try {
        await post(session, url, message, over);
      } catch (error) {
        const fault = networkFault(error, session.url.host);
        if (id !== null) mux.fail(id, fault);
        if (fault instanceof UnreachableFault || (fault instanceof StatusFault && fault.status === 401))
          mux.end(fault);
      }
    },
    cancel(id, reason) {
      void channel.send(cancelNotice(id, reason));
    },
  };
  return channel;
}

async function post(session: HttpSession, url: URL, message: Json, signal: AbortSignal): Promise<void> {
  const answer = await session.ask('POST', {
    url,
    body: JSON.stringify(message),
    headers: { accept: 'application/json, text/event-stream' },
    signal,
  });
  await readText(answer.body, MOST_OF_A_REFUSAL).catch(() => {});
  if (answer.status < 200 || answer.status > 299) throw new StatusFault(answer.status, answer.headers);
}

/** Reads the stream for as long as it lasts; the link lasts no longer. */
function endpointOf(options: SseChannelOptions, body: NodeJS.ReadableStream): Promise<URL> {
  const { mux, session, events, maxFrameBytes } = options;
  return new Promise((resolve, reject) => {
    let isKnown = false;
    const parser = new SseParser(maxFrameBytes, ({ type, data }) => {
      const message = type === 'message' ? tryParse(data) : undefined;
      if (type === 'endpoint' && !isKnown) {
        isKnown = true;
        resolve(endpoint(session.url, data));
      } else if (message === undefined) events.onStray();
      else mux.receive(message);
    });
    const read = async () => {
      for await (const chunk of body as AsyncIterable<Buffer>) parser.push(chunk);
    };
    read()
      .catch(error => networkFault(error, session.url.host))
      .then(fault => fault ?? new UpstreamFault('transport', 'The server ended the stream of events.'))
      .then(fault => {
        reject(fault);
        mux.end(fault);
      });
  });
}

function endpoint(from: URL, data: string): URL {
  const url = URL.canParse(data, from.href) ? new URL(data, from) : null;
  if (url?.origin === from.origin) return url;
  throw new UpstreamFault('transport', 'The server wants its messages sent to another host.');
}
