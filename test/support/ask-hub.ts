import { createConnection } from 'node:net';
import { Proof } from '../../src/link/handshake.ts';
import { socketPath } from '../../src/link/home.ts';
import { type ErrorShape, SquadError } from '../../src/schema/error.ts';
import type { TestSquad } from './squad.ts';

/** One question to the hub that is there, as a terminal asks it: for operations that no command shows whole. */
export function askHub<T>(
  squad: Pick<TestSquad, 'home' | 'workspace' | 'env'>,
  operation: string,
  input: object = {},
): Promise<T> {
  const hello = {
    squad: 1,
    version: '0.0.0',
    view: 'control',
    pid: process.pid,
    cwd: squad.workspace,
    env: squad.env,
  };
  return new Promise((resolve, reject) => {
    const socket = createConnection(socketPath(squad.home));
    let text = '';
    const proof = new Proof();
    socket.on('connect', () =>
      socket.write(`${JSON.stringify(hello)}\n${JSON.stringify({ id: 1, operation, input })}\n`),
    );
    socket.setEncoding('utf8').on('data', chunk => {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        const words = JSON.parse(line) as { result?: T; error?: ErrorShape };
        if (proof.answers(words)) continue;
        const { result, error } = words;
        if (error) reject(SquadError.from(error));
        else if (result !== undefined) resolve(result);
        else continue;
        socket.destroy();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => proof.release());
    socket.on('close', () => reject(new Error(`The hub has not answered ${operation}: ${text}`)));
  });
}
