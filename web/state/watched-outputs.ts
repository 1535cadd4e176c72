import type { ClientMessage, LiveMessage } from '../../src/schema/live.ts';

export interface OutputTarget {
  runId: string;
  turn: number;
  stream: 'stdout' | 'stderr';
}
type OnGrew = (size: number, isOver: boolean, messages: number) => void;
type Grown = Pick<LiveMessage & { type: 'grew' }, 'size' | 'isOver' | 'messages'>;

/** Listeners for growing outputs. The hub gets one watch message per output, however many listeners it has. */
export class WatchedOutputs {
  #targets = new Map<string, { target: OutputTarget; listeners: Set<OnGrew> }>();
  readonly #send: (message: ClientMessage) => void;

  constructor(send: (message: ClientMessage) => void) {
    this.#send = send;
  }

  add(target: OutputTarget, onGrew: OnGrew): () => void {
    const key = keyOf(target);
    const known = this.#targets.get(key);
    const entry = known ?? { target, listeners: new Set<OnGrew>() };
    entry.listeners.add(onGrew);
    if (!known) {
      this.#targets.set(key, entry);
      this.#say('watch', target);
    }
    return () => {
      entry.listeners.delete(onGrew);
      if (entry.listeners.size > 0 || this.#targets.get(key) !== entry) return;
      this.#targets.delete(key);
      this.#say('unwatch', target);
    };
  }

  grew(target: OutputTarget, { size, isOver, messages }: Grown): void {
    for (const listener of this.#targets.get(keyOf(target))?.listeners ?? [])
      listener(size, isOver, messages);
  }

  /** Called for a new connection, which has no watches yet. */
  watchAll(): void {
    for (const { target } of this.#targets.values()) this.#say('watch', target);
  }

  #say(type: ClientMessage['type'], { runId, turn, stream }: OutputTarget): void {
    this.#send({ type, runId: runId as ClientMessage['runId'], turn, stream });
  }
}

const keyOf = ({ runId, turn, stream }: OutputTarget): string => `${runId}/${turn}/${stream}`;
