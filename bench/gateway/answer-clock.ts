import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type OutgoingHttpHeaders, request } from 'node:http';

export interface Timed {
  ms: number;
  bytes: Buffer;
}

/** Measures the time to the last byte of a long answer, without the time to parse it. */
export interface AnswerClock {
  ask(message: object): Promise<Timed>;
  close(): Promise<void>;
}

/** Measures a program that answers in lines, with one request at a time and no other output. */
export function overLines(
  command: string,
  args: string[],
  options: { cwd: string; env: Record<string, string> },
): AnswerClock {
  const child: ChildProcessWithoutNullStreams = spawn(command, args, options);
  const gone = once(child, 'close');
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  child.stderr.resume();
  return {
    ask: message =>
      timedAnswer((onChunk, onEnd) => {
        const hear = (chunk: Buffer) => {
          onChunk(chunk);
          if (chunk.at(-1) !== 0x0a) return;
          child.stdout.off('data', hear);
          onEnd();
        };
        child.stdout.on('data', hear);
        send(message);
      }),
    close: async () => {
      child.stdin.end();
      await gone;
    },
  };
}

export function overHttp(url: string, headers: OutgoingHttpHeaders): AnswerClock {
  const agent = new Agent({ keepAlive: true });
  return {
    ask: message =>
      timedAnswer((onChunk, onEnd, onError) => {
        request(url, { agent, method: 'POST', headers }, response =>
          response.on('data', onChunk).on('end', onEnd).on('error', onError),
        )
          .on('error', onError)
          .end(JSON.stringify(message));
      }),
    close: async () => agent.destroy(),
  };
}

async function timedAnswer(
  begin: (onChunk: (chunk: Buffer) => void, onEnd: () => void, onError: (error: Error) => void) => void,
): Promise<Timed> {
  const chunks: Buffer[] = [];
  const start = performance.now();
  await new Promise<void>((resolve, reject) => begin(chunk => chunks.push(chunk), resolve, reject));
  return { ms: performance.now() - start, bytes: Buffer.concat(chunks) };
}
