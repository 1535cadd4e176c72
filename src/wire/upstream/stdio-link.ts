import type { Readable, Writable } from 'node:stream';
import { within } from '../../base/clock.ts';
import { tryParseJson } from '../../base/json.ts';
import { edgesOfLongLine, type LineEdges, LineSplitter } from '../../base/lines.ts';
import { answeredId, asLine, gatherWrites } from '../stream/message-lines.ts';
import { subscribe } from './change-stream.ts';
import { answerTooLarge, tooLarge } from './http-session.ts';
import {
  type Channel,
  cancelNotice,
  handshakeLegacy,
  handshakeModern,
  type Json,
  type LinkOptions,
  MAX_FRAME_BYTES,
  UpstreamFault,
  type UpstreamHandshake,
  type UpstreamLink,
} from './link.ts';
import { handshakeRefused, Multiplexer, toLink } from './multiplexer.ts';

interface ServiceEnd {
  code: number | null;
  signal: string | null;
}

interface StdioLinkOptions extends LinkOptions {
  stdout: Readable;
  stdin: Writable;
  /** Resolves when the process ends. Never rejects. */
  ended: Promise<ServiceEnd>;
}

interface LineChannelOptions extends Pick<StdioLinkOptions, 'stdout' | 'stdin' | 'ended' | 'events'> {
  maxFrameBytes: number;
  mux: Multiplexer;
}

/** Number of unread bytes from which nothing more is sent to a server. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** A line is treated as endless when it is longer than this number of messages of maximum size. */
const ENDLESS_FRAMES = 8;
/** Maximum time between the end of a process and the end of its output, whichever comes first. */
const LAST_OUTPUT_TIMEOUT_MS = 250;

/** Opens a channel over the streams of a process, with one message per line. */
function openLineChannel(options: LineChannelOptions): Channel {
  const { stdin, mux, events } = options;

  function write(message: Json): boolean {
    if (!stdin.writable || stdin.writableLength > MAX_UNREAD_BYTES) return false;
    gatherWrites(stdin);
    stdin.write(asLine(message));
    return true;
  }

  readLines(options);
  endWithProcess(options);

  return {
    send(message) {
      if (write(message)) return;
      const fault = new UpstreamFault('transport', 'The server does not read what it is sent.');
      if (typeof message.method === 'string' && typeof message.id === 'number') mux.fail(message.id, fault);
      // The server does not read the answer that was sent to it.
      else events.onStray();
    },
    cancel(id, reason) {
      write(cancelNotice(id, reason));
    },
  };
}

function readLines({ stdout, mux, events, maxFrameBytes }: LineChannelOptions): void {
  const maxLongBytes = maxFrameBytes * ENDLESS_FRAMES;
  const lines = new LineSplitter(
    { maxBytes: maxFrameBytes },
    {
      line(bytes) {
        if (!mux.fault) readLine(bytes);
      },
      piece: edgesOfLongLine((edges, isLast) => {
        if (mux.fault) return;
        if (edges.bytes > maxLongBytes) giveUp(maxLongBytes);
        else if (isLast) dropLine(edges);
      }),
    },
  );

  /** Handles an answer that is too long. Only its request fails, because other requests share the link. */
  function dropLine(edges: LineEdges): void {
    const id = answeredId(edges);
    if (typeof id !== 'number') giveUp(maxFrameBytes);
    else if (mux.isPending(id)) mux.fail(id, answerTooLarge(maxFrameBytes));
    else events.onStray();
  }

  function giveUp(bytes: number): void {
    mux.end(tooLarge(bytes));
    stdout.destroy();
  }

  function readLine(bytes: Buffer): void {
    // Blank lines are ignored.
    if (bytes.length === 0 || (bytes.length === 1 && bytes[0] === 13)) return;
    const message = tryParseJson(bytes.toString());
    // Other output is only counted, because servers also print text that is not a message.
    if (message === undefined) events.onStray();
    else mux.receive(message);
  }

  stdout.on('data', (chunk: Buffer) => {
    if (!mux.fault) lines.push(chunk);
  });
  stdout.on('end', () => lines.end());
}

function endWithProcess({ stdout, stdin, mux, ended }: LineChannelOptions): void {
  const outputEnd = new Promise<void>(resolve => {
    stdout.once('close', resolve).once('end', resolve);
    stdout.on('error', () => resolve());
    if (stdout.readableEnded || stdout.destroyed) resolve();
  });
  const inputEnd = new Promise<void>(resolve => {
    stdin.once('close', resolve);
    stdin.on('error', () => resolve());
    if (stdin.destroyed) resolve();
  });

  void ended.then(async end => {
    // Output from before the end of the process is still read. The time for that is limited, because a child process
    // may keep the stream open.
    await within(outputEnd, LAST_OUTPUT_TIMEOUT_MS);
    mux.end(exitFault(end));
  });
  for (const [stream, message] of [
    [outputEnd, 'The server closed its output.'],
    [inputEnd, 'The server closed its input.'],
  ] as const) {
    void stream.then(async () => {
      const end = await within(ended, LAST_OUTPUT_TIMEOUT_MS);
      mux.end(end ? exitFault(end) : new UpstreamFault('transport', message));
    });
  }
}

function exitFault({ code, signal }: ServiceEnd): UpstreamFault {
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  return new UpstreamFault('exit', `The server's process ${how}.`);
}

/** A link over the streams of a running process. Closing the input ends the process. Rejects with an UpstreamFault. */
export async function openStdioLink(options: StdioLinkOptions): Promise<UpstreamLink> {
  const { events, stdout, stdin, ended, maxFrameBytes = MAX_FRAME_BYTES } = options;
  const mux = new Multiplexer(events);
  mux.attach(openLineChannel({ stdout, stdin, ended, maxFrameBytes, mux, events }));
  const over = new AbortController();
  void mux.closed.then(() => over.abort());

  async function close(): Promise<void> {
    mux.end(new UpstreamFault('transport', 'The link was closed.'));
    stdin.end();
  }

  try {
    const handshake = await negotiate(mux, options);
    if (handshake.era === 'modern') void subscribe(mux, handshake.capabilities, events, over.signal);
    return toLink(mux, handshake, close);
  } catch (fault) {
    await close();
    throw fault;
  }
}

/**
 * Tries `initialize` first, because nearly every server knows it, modern ones too. A server that does not gets the
 * modern handshake.
 */
async function negotiate(mux: Multiplexer, options: LinkOptions): Promise<UpstreamHandshake> {
  try {
    return await handshakeLegacy(mux, options);
  } catch (fault) {
    if (!(fault instanceof UpstreamFault) || fault.kind !== 'answer') throw fault;
    return await handshakeModern(mux, options).catch(second => {
      if (!(second instanceof UpstreamFault) || second.kind !== 'answer') throw second;
      throw handshakeRefused(fault);
    });
  }
}
