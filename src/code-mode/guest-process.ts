import { type PipedChild, type PipedStart, startPiped } from '../process/programs/piped-child.ts';
import { createFrameReader, toFrame } from './frames.ts';
import { type GuestMessage, type HostMessage, readGuestMessage } from './messages.ts';
import type { AnswerPipe } from './tool-calls.ts';

/** The process that a program runs in, seen from the host. It serves one program. */
export interface Guest {
  /** Null when it could not be started. */
  readonly pid: number | null;
  readonly pipe: AnswerPipe;
  send(message: HostMessage): void;
  /** From now on this one is told, and nobody else. */
  hear(listener: GuestListener): void;
  /** Ends it at once. When this settles nothing of it is left. */
  end(): Promise<void>;
}

export interface GuestListener {
  message(message: GuestMessage, bytes: number): void;
  /** It said what no honest one says. */
  nonsense(): void;
  gone(how: Awaited<PipedChild['ended']>, complaint: string): void;
}

/** Node's own last words are a few kilobytes. */
const MAX_STDERR = 1024 * 1024;

export function startGuest(argv: PipedStart['argv']): Guest {
  const child = startPiped({ argv, cwd: '/', env: {} });
  let listener: GuestListener | null = null;
  let complaint = '';

  const frames = createFrameReader(body => {
    const message = readGuestMessage(body);
    if (message === null) listener?.nonsense();
    else listener?.message(message, body.length);
  });
  child.stdout.on('data', (chunk: Buffer) => {
    try {
      frames.push(chunk);
    } catch {
      listener?.nonsense();
    }
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString('utf8');
    if (complaint.length > MAX_STDERR) listener?.nonsense();
  });
  // Its last words are read before its end is judged.
  const gone = new Promise<Awaited<PipedChild['ended']>>(resolve => {
    child.stdout.once('close', () => void child.ended.then(resolve));
  });

  return {
    pid: child.pid,
    pipe: child.stdin,
    send: message => void child.stdin.write(toFrame(message)),
    hear(next) {
      listener = next;
      void gone.then(how => listener === next && next.gone(how, complaint));
    },
    async end() {
      listener = null;
      child.kill();
      child.stdout.destroy();
      child.stderr.destroy();
      child.stdin.destroy();
      await child.ended;
    },
  };
}
