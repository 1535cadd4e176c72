import type { Socket } from 'node:net';
import { z } from 'zod';
import type { Hello } from '../link/handshake.ts';

const LONGEST_HELLO = 4 * 1024 * 1024;
const PATIENCE_MS = 10_000;
const NEWLINE = 10;

const HelloLine = z.object({
  squad: z.literal(1),
  version: z.string(),
  view: z.enum(['mcp', 'control', 'subagent']),
  pid: z.number().int(),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  startsHub: z.literal(true).optional(),
  workspace: z.string().optional(),
  toolsets: z.string().optional(),
  config: z.string().optional(),
  token: z.string().optional(),
  lostSince: z.number().optional(),
});

export type Greeting = Hello | { refusal: { code: string; message: string } } | null;

/** Reads exactly the first line; what came after it is put back for the view. Null when the client left without a word. */
export function readHello(socket: Socket): Promise<Greeting> {
  return new Promise(resolve => {
    let pieces: Buffer[] = [];
    let length = 0;
    const done = (greeting: Greeting) => {
      clearTimeout(timer);
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      socket.pause();
      resolve(greeting);
    };
    const onEnd = () => done(null);
    const onData = (chunk: Buffer) => {
      const at = chunk.indexOf(NEWLINE);
      pieces.push(at < 0 ? chunk : chunk.subarray(0, at));
      length += chunk.length;
      if (at < 0) return void (length > LONGEST_HELLO && done(refusal('Its hello is too long')));
      const rest = chunk.subarray(at + 1);
      const text = Buffer.concat(pieces).toString();
      pieces = [];
      done(parse(text));
      if (rest.length > 0) socket.unshift(rest);
    };
    const timer = setTimeout(() => done(refusal('It said no hello')), PATIENCE_MS);
    socket.on('data', onData).on('end', onEnd).on('close', onEnd);
  });
}

function parse(text: string): Greeting {
  try {
    const parsed = HelloLine.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : refusal('Its hello is not one this hub understands');
  } catch {
    return refusal('Its first line is not JSON');
  }
}

const refusal = (what: string): Greeting => ({
  refusal: {
    code: 'INVALID_INPUT',
    message: `${what}. This socket is for Squad's own programs: use \`squad mcp\`.`,
  },
});
