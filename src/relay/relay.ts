import type { Socket } from 'node:net';
import type { Hello, HelloReply } from '../link/hello.ts';
import { type ConnectOptions, connectOrStart } from '../link/start-hub.ts';
import { Lines } from './lines.ts';
import { Traffic } from './traffic.ts';

export interface RelayOptions extends ConnectOptions {
  hello: Hello;
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
}

type Refusal = { code: string; message: string };

/** After the client closes its end, replies already asked for get this long to come out: `printf … | squad mcp` works. */
const LAST_REPLIES_MS = 2_000;

/**
 * Copies lines between a client's stdio and the hub. When the hub goes away it starts another, replays the handshake and
 * answers what was in flight, so that a client keeps its server for as long as it likes. Settles when the client is gone.
 */
export async function relay({ hello, input, output, ...connection }: RelayOptions): Promise<void> {
  const traffic = new Traffic();
  /** Lines that came while no hub was there and that the replay does not bring: malformed ones, which want an answer too. */
  const waiting: Buffer[] = [];
  let socket: Socket | null = null;
  let done = false;
  let drained = () => {};

  const fromClient = new Lines(line => {
    const kept = traffic.fromClient(line);
    if (socket) socket.write(line);
    else if (!kept) waiting.push(line);
  });

  input.on('data', chunk => {
    fromClient.push(chunk);
    if (socket?.writableNeedDrain) {
      input.pause();
      socket.once('drain', () => input.resume());
    }
  });
  const clientGone = new Promise<void>(settle => {
    input.on('end', settle);
    input.on('close', settle);
    output.on('error', () => settle());
  }).then(async () => {
    if (traffic.open > 0)
      await new Promise<void>(settle => {
        drained = settle;
        setTimeout(settle, LAST_REPLIES_MS);
      });
    done = true;
    socket?.end();
  });

  let failuresInARow = 0;
  while (!done) {
    const opened = await Promise.race([connectOrStart(connection), clientGone.then(() => null)]);
    if (!opened) break;
    let greeted = false;
    opened.write(`${JSON.stringify(hello)}\n`);
    for (const line of [...traffic.replay(), ...waiting.splice(0)]) opened.write(line);
    socket = opened;
    const refusal = await new Promise<Refusal | null>(settle => {
      const fromHub = new Lines(line => {
        if (!greeted) {
          greeted = true;
          const reply = JSON.parse(line.toString()) as HelloReply;
          if (!reply.ok) settle(reply.error);
        } else if (traffic.fromHub(line)) {
          output.write(line);
          if (traffic.open === 0) drained();
        }
      });
      opened.on('data', chunk => fromHub.push(chunk));
      opened.on('error', () => {}); // 'close' follows and says all we need
      opened.on('close', () => settle(null));
    });
    socket = null;
    if (refusal) throw Object.assign(new Error(refusal.message), { code: refusal.code });
    if (done) break;
    failuresInARow = greeted ? 0 : failuresInARow + 1;
    if (failuresInARow > 5)
      throw Object.assign(new Error('The hub closes every connection'), { code: 'HUB_UNREACHABLE' });
    for (const answer of traffic.hubLost()) output.write(answer);
    if (traffic.open === 0) drained();
  }
}
