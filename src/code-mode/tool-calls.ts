import type { CodeTool } from './code-mode.ts';
import { MOST_FRAME_BYTES, toFrame } from './frames.ts';
import { type GuestMessage, type HostMessage, MOST_CALL_BYTES, MOST_CALLS } from './messages.ts';

type Call = GuestMessage & { type: 'call' };
type Answer = Extract<HostMessage, { id: number }>;

export interface ToolCalls {
  /** Starts a call. False for what no honest guest asks: an id that is in flight, more calls or bytes than there is room for. */
  start(call: Call, bytes: number): boolean;
  count(): number;
  inFlight(): string[];
  cancelAll(): void;
}

/** The guest's side of the pipe, as far as answers go. */
export interface AnswerPipe {
  write(frame: Buffer): void;
  /** Bytes that the guest has not taken yet. */
  readonly writableLength: number;
}

/** Of answers that the guest has not taken: it may be busy, or never mean to. */
const MOST_UNTAKEN = 64 * 1024 * 1024;

/** The calls of one program. */
export function createToolCalls(tools: ReadonlyMap<string, CodeTool>, pipe: AnswerPipe): ToolCalls {
  const going = new Map<number, string>();
  const cancelling = new AbortController();
  let bytesGoing = 0;
  let count = 0;

  async function answer({ id, tool: name, args }: Call): Promise<Answer> {
    const tool = tools.get(name);
    if (!tool) return { type: 'error', id, message: `There is no tool ${name.slice(0, 100)}.` };
    try {
      const json = JSON.stringify(await tool.call(args, cancelling.signal));
      return { type: 'result', id, json };
    } catch (thrown) {
      return { type: 'error', id, message: messageOf(thrown) };
    }
  }

  return {
    start(call, bytes) {
      const { id, tool } = call;
      bytesGoing += bytes;
      if (going.has(id) || going.size >= MOST_CALLS || bytesGoing > MOST_CALL_BYTES) return false;
      going.set(id, tool);
      if (tools.has(tool)) count++;
      void answer(call).then(message => {
        if (cancelling.signal.aborted) return;
        going.delete(id);
        bytesGoing -= bytes;
        pipe.write(fitting(message, MOST_UNTAKEN - pipe.writableLength));
      });
      return true;
    },
    count: () => count,
    inFlight: () => [...going.values()],
    cancelAll: () => cancelling.abort(new Error('The program that called it has ended.')),
  };
}

function fitting(message: Answer, room: number): Buffer {
  const frame = toFrame(message);
  if (frame.length - 4 <= MOST_FRAME_BYTES && frame.length <= room) return frame;
  return toFrame({
    type: 'error',
    id: message.id,
    message: `Its answer is ${frame.length} bytes long, more than the program can take.`,
  });
}

const LONGEST_MESSAGE = 4000;

function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, LONGEST_MESSAGE);
  } catch {
    return 'It failed without a message.';
  }
}
