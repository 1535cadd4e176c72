import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { hubArguments } from '../src/link/start-hub.ts';
import type { BenchSquad } from './bench-squad.ts';

/** A hub whose memory can be read through Node's inspector. */
export class InspectedHub implements AsyncDisposable {
  private readonly socket: WebSocket;
  private last = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
  }

  /** Starts a hub with the inspector, before a command would start one without it. */
  static async start(squad: BenchSquad): Promise<InspectedHub> {
    const args = ['--inspect=127.0.0.1:0', ...hubArguments(join(squad.program, 'dist', 'hub.cjs'))];
    const hub = spawn(process.execPath, args, {
      cwd: '/',
      env: squad.env(),
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let address: string | undefined;
    for await (const line of createInterface(hub.stderr)) {
      address = /ws:\S+/.exec(line)?.[0];
      if (address) break;
    }
    if (!address) throw new Error('The hub has no inspector');
    hub.unref();
    const socket = new WebSocket(address);
    await new Promise((open, fail) => {
      socket.addEventListener('open', open);
      socket.addEventListener('error', () => fail(new Error('The inspector does not answer')));
    });
    await squad.hubPid();
    return new InspectedHub(socket);
  }

  /** Heap in use after a full garbage collection, in MB of 1,000,000 bytes. */
  async heapMb(): Promise<number> {
    for (let time = 0; time < 3; time++) await this.ask('HeapProfiler.collectGarbage');
    const { usedSize } = await this.ask<{ usedSize: number }>('Runtime.getHeapUsage');
    return usedSize / 1e6;
  }

  /** The part of the heap that holds compiled code. It grows for hours, because V8 optimizes a function when it has run often. */
  async codeMb(): Promise<number> {
    const { result } = await this.ask<{ result: { value: number } }>('Runtime.evaluate', {
      expression: `process.getBuiltinModule('v8').getHeapSpaceStatistics()
        .filter(({ space_name }) => /^(code|trusted)_/.test(space_name))
        .reduce((sum, space) => sum + space.space_used_size, 0)`,
    });
    return result.value / 1e6;
  }

  private ask<T>(method: string, params: object = {}): Promise<T> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      const onMessage = ({ data }: MessageEvent) => {
        const { id: of, result, error } = JSON.parse(String(data));
        if (of !== id) return;
        this.socket.removeEventListener('message', onMessage);
        if (error) reject(new Error(error.message));
        else resolve(result);
      };
      this.socket.addEventListener('message', onMessage);
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close();
  }
}
