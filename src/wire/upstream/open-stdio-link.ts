import type { Readable, Writable } from 'node:stream';
import { subscribe } from './change-stream.ts';
import { type Greeting, greetLegacy, greetModern, type LinkOptions, MAX_FRAME_BYTES } from './greeting.ts';
import { openLineChannel, type ServiceEnd } from './line-channel.ts';
import { UpstreamFault, type UpstreamLink } from './link.ts';
import { Multiplexer } from './multiplexer.ts';
import { refusedGreeting, toLink } from './to-link.ts';

export interface StdioLinkOptions extends LinkOptions {
  stdout: Readable;
  stdin: Writable;
  /** Settles when the process ends; never rejects. */
  ended: Promise<ServiceEnd>;
}

/** A link over the streams of a running process, which it ends by closing its input. Rejects with an UpstreamFault. */
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
    const greeting = await greet(mux, options);
    if (greeting.era === 'modern') void subscribe(mux, greeting.capabilities, events, over.signal);
    return toLink(mux, greeting, close);
  } catch (fault) {
    await close();
    throw fault;
  }
}

/** Nearly every server knows `initialize`, also those that know better; only one that does not is asked the modern way. */
async function greet(mux: Multiplexer, options: LinkOptions): Promise<Greeting> {
  try {
    return await greetLegacy(mux, options);
  } catch (fault) {
    if (!(fault instanceof UpstreamFault) || fault.kind !== 'answer') throw fault;
    return await greetModern(mux, options).catch(second => {
      if (!(second instanceof UpstreamFault) || second.kind !== 'answer') throw second;
      throw refusedGreeting(fault);
    });
  }
}
