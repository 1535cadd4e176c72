import type { CallEnd, CallWatch, CodeTool } from './code-mode.ts';
import { MAX_FRAME_BYTES, toFrame } from './frames.ts';
import { type GuestMessage, type HostMessage, MAX_CALL_BYTES, MAX_CALLS } from './messages.ts';

type Call = GuestMessage & { type: 'call' };
type Answer = Extract<HostMessage, { id: number }>;

export interface ToolCalls {
  /** Starts a call. False for what no honest guest asks: an id that is in flight, more calls or bytes than there is room for. */
  start(call: Call, bytes: number): boolean;
  inFlight(): string[];
  /** The program has ended: whoever watches is told of each that is still in flight. */
  cancelAll(): void;
}

/** The guest's side of the pipe, as far as answers go. */
export interface AnswerPipe {
  write(frame: Buffer): void;
  /** Bytes that the guest has not taken yet. */
  readonly writableLength: number;
}

/** Of answers that the guest has not taken: it may be busy, or never mean to. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

interface Going {
  name: string;
  tellEnd: (end: CallEnd) => void;
}

/** The calls of one program. */
export function createToolCalls(
  tools: ReadonlyMap<string, CodeTool>,
  pipe: AnswerPipe,
  watch: CallWatch,
): ToolCalls {
  const going = new Map<number, Going>();
  const cancelling = new AbortController();
  let bytesGoing = 0;

  async function endOf({ tool: name, args }: Call): Promise<CallEnd> {
    const tool = tools.get(name);
    if (!tool) return { ok: false, error: `There is no tool ${name.slice(0, 100)}.` };
    try {
      const value = await tool.call(args, cancelling.signal);
      return { ok: true, value, json: JSON.stringify(value) };
    } catch (thrown) {
      return { ok: false, error: messageOf(thrown) };
    }
  }

  return {
    start(call, bytes) {
      const { id, tool: name, args } = call;
      bytesGoing += bytes;
      if (going.has(id) || going.size >= MAX_CALLS || bytesGoing > MAX_CALL_BYTES) return false;
      const tool = tools.get(name);
      const tellEnd = tool ? watch(tool, args) : () => {};
      going.set(id, { name, tellEnd });
      void endOf(call).then(came => {
        if (cancelling.signal.aborted) return;
        going.delete(id);
        bytesGoing -= bytes;
        const { end, frame } = fitting(id, came, MAX_UNREAD_BYTES - pipe.writableLength);
        pipe.write(frame);
        tellEnd(end);
      });
      return true;
    },
    inFlight: () => [...going.values()].map(({ name }) => name),
    cancelAll() {
      cancelling.abort(new Error('The program that called it has ended.'));
      for (const { tellEnd } of going.values()) tellEnd({ ok: false, error: CANCELLED });
      going.clear();
    },
  };
}

const CANCELLED =
  'Cancelled, because the program ended before it had an answer: it may have taken effect or not.';

/** What the guest can be told of it. */
function fitting(id: number, end: CallEnd, room: number): { end: CallEnd; frame: Buffer } {
  const frame = toFrame(answerOf(id, end));
  if (frame.length - 4 <= MAX_FRAME_BYTES && frame.length <= room) return { end, frame };
  const error = `Its answer is ${frame.length} bytes long, more than the program can take.`;
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
