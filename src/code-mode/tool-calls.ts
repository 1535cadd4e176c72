import type { CallEnd, CallWatch, CodeTool } from './code-mode.ts';
import {
  type GuestMessage,
  type HostMessage,
  MAX_CALL_BYTES,
  MAX_CALLS,
  MAX_FRAME_BYTES,
  toFrame,
} from './messages.ts';

type Call = GuestMessage & { type: 'call' };
type Answer = Extract<HostMessage, { id: number }>;

export interface AnswerPipe {
  write(frame: Buffer): void;
  /** Number of bytes that the guest has not read yet. */
  readonly writableLength: number;
}

/** Limit for answers that the guest has not read yet: it may be busy, or refuse to read. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

interface RunningCall {
  name: string;
  reportCallEnd: (end: CallEnd) => void;
}

export function createToolCalls(tools: ReadonlyMap<string, CodeTool>, pipe: AnswerPipe, watch: CallWatch) {
  const going = new Map<number, RunningCall>();
  const cancelling = new AbortController();
  let bytesGoing = 0;

  async function endOf({ tool: name, args }: Call): Promise<CallEnd> {
    const tool = tools.get(name);
    if (!tool) return { ok: false, error: `Unknown tool ${name.slice(0, 100)}.` };
    try {
      const value = await tool.call(args, cancelling.signal);
      return { ok: true, value, json: JSON.stringify(value) };
    } catch (thrown) {
      return { ok: false, error: messageOf(thrown) };
    }
  }

  return {
    /**
     * Starts a call. Returns false if an unmodified guest would not make the call: its id is in use, or there are too
     * many calls or bytes.
     */
    start(call: Call, bytes: number): boolean {
      const { id, tool: name, args } = call;
      bytesGoing += bytes;
      if (going.has(id) || going.size >= MAX_CALLS || bytesGoing > MAX_CALL_BYTES) return false;
      const tool = tools.get(name);
      const reportCallEnd = tool ? watch(tool, args) : () => {};
      going.set(id, { name, reportCallEnd });
      void endOf(call).then(came => {
        if (cancelling.signal.aborted) return;
        going.delete(id);
        bytesGoing -= bytes;
        const { end, frame } = fitting(id, came, MAX_UNREAD_BYTES - pipe.writableLength);
        pipe.write(frame);
        reportCallEnd(end);
      });
      return true;
    },
    inFlight: () => [...going.values()].map(({ name }) => name),
    /** Called when the program has ended. Reports every call in flight as cancelled. */
    cancelAll() {
      cancelling.abort(new Error('The program that called the tool has ended.'));
      for (const { reportCallEnd } of going.values()) reportCallEnd({ ok: false, error: CANCELLED });
      going.clear();
    },
  };
}

const CANCELLED =
  'Cancelled, because the program ended before the call was answered. The call may or may not have taken effect.';

/** Replaces an answer that is too long for the guest by an error. */
function fitting(id: number, end: CallEnd, room: number): { end: CallEnd; frame: Buffer } {
  const frame = toFrame(answerOf(id, end));
  if (frame.length - 4 <= MAX_FRAME_BYTES && frame.length <= room) return { end, frame };
  const error = `The answer has ${frame.length} bytes, which is more than a program can receive.`;
  const tooLong: CallEnd = { ok: false, error };
  return { end: tooLong, frame: toFrame(answerOf(id, tooLong)) };
}

const answerOf = (id: number, end: CallEnd): Answer =>
  end.ok ? { type: 'result', id, json: end.json } : { type: 'error', id, message: end.error };

const MAX_MESSAGE_LENGTH = 4000;

function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, MAX_MESSAGE_LENGTH);
  } catch {
    return 'It failed without a message.';
  }
}
