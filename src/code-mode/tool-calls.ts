import type { CodeTool } from './code-mode.ts';
import { MOST_FRAME_BYTES, toFrame } from './frames.ts';
import type { GuestMessage, HostMessage } from './messages.ts';

export type Call = GuestMessage & { type: 'call' };

type Answer = Extract<HostMessage, { id: number }>;

export interface ToolCalls {
  /** Starts a call. False: an id that is already in flight, which no honest guest sends. */
  start(call: Call, bytes: number): boolean;
  /** Whether another one has to wait: too many are in flight, or too much. */
  isFull(): boolean;
  count(): number;
  inFlight(): string[];
  cancelAll(): void;
}

const MOST_AT_ONCE = 64;
const MOST_BYTES_AT_ONCE = 32 * 1024 * 1024;

/** The calls of one program. A call is in flight until the guest has taken its answer, so answers cannot pile up either. */
export function createToolCalls(
  tools: ReadonlyMap<string, CodeTool>,
  reply: (frame: Buffer, taken: () => void) => void,
  onRoom: () => void,
): ToolCalls {
  const going = new Map<number, { tool: string; bytes: number }>();
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
      if (going.has(id)) return false;
      going.set(id, { tool, bytes });
      bytesGoing += bytes;
      if (tools.has(tool)) count++;
      void answer(call).then(message => {
        if (cancelling.signal.aborted) return;
        reply(fitting(message), () => {
          going.delete(id);
          bytesGoing -= bytes;
          onRoom();
        });
      });
      return true;
    },
    isFull: () => going.size >= MOST_AT_ONCE || bytesGoing >= MOST_BYTES_AT_ONCE,
    count: () => count,
    inFlight: () => [...going.values()].map(({ tool }) => tool),
    cancelAll: () => cancelling.abort(new Error('The program that called it has ended.')),
  };
}

function fitting(message: Answer): Buffer {
  const frame = toFrame(message);
  if (frame.length - 4 <= MOST_FRAME_BYTES) return frame;
  return toFrame({
    type: 'error',
    id: message.id,
    message: `Its answer is ${frame.length} bytes long, more than a program can take.`,
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
