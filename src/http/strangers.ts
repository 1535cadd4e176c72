import type { Socket } from 'node:net';

const MOST = 256;

/** Connections that have not shown a token, the longest there first. */
export class Strangers {
  private readonly sockets = new Set<Socket>();

  /** Who has said nothing for the longest makes room, so that connections that only stand there keep nobody out. */
  add(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (this.sockets.size <= MOST) return;
    const [first] = this.sockets;
    this.sockets.delete(first!);
    first!.destroy();
  }

  delete(socket: Socket): void {
    this.sockets.delete(socket);
  }
}
