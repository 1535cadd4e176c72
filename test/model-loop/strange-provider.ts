/** A provider that answers with whatever the test gives it, in no known format. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StrangeProvider extends AsyncDisposable {
  url: string;
  /** Bytes that were taken off its hands. */
  sent: number;
  /** Settles when the other side closed the connection. */
  left: Promise<void>;
}

export async function startStrangeProvider(
  answer: (response: ServerResponse, provider: StrangeProvider) => unknown,
): Promise<StrangeProvider> {
  let leave: (() => void) | undefined;
  const left = new Promise<void>(resolve => {
    leave = resolve;
  });
  const server = createServer((request, response) => {
    response.on('close', () => leave!());
    request.resume().on('end', () => void answer(response, provider));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const provider: StrangeProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: 0,
    left,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
  return provider;
}

/** Writes the same again and again for as long as somebody reads. */
export async function writeForEver(
  response: ServerResponse,
  provider: StrangeProvider,
  piece: string,
): Promise<void> {
  const bytes = Buffer.from(piece);
  while (!response.destroyed) {
    provider.sent += bytes.length;
    if (!response.write(bytes)) await Promise.race([once(response, 'drain'), provider.left]);
  }
}
