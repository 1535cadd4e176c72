import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, call } from '../../state/api.ts';
import { onChanges, watchOutput } from '../../state/live.ts';
import { saved } from '../../state/saved.ts';
import type { ShownRun } from '../runs/run/shown-run.ts';
import type { Conversation, Message } from './conversation-entries.ts';

/** Number of messages that are loaded automatically. The user can load more. */
const MAX_MESSAGES = 1_000;

export interface ShownConversation {
  messages: readonly Message[];
  nested: Conversation['nested'];
  note: string | null;
  isLoading: boolean;
  error: ApiError | null;
  /** Loads more messages. Null if all are shown. */
  showMore: (() => void) | null;
  reload(): void;
}

interface Known {
  run: string;
  messages: Message[];
  answer: Conversation | null;
  error: ApiError | null;
}

/** The conversation of a run, updated live. New messages are added; no message is requested twice. */
export function useConversation({ run, turns }: ShownRun): ShownConversation {
  const [known, setKnown] = useState<Known>(() => nothing(run.id));
  const loader = useRef<Loader | null>(null);
  const isLive = run.endedAt === null && !saved;
  useEffect(() => {
    const made = new Loader(run.id, setKnown);
    loader.current = made;
    made.look();
    const leave = onChanges(({ isReset }) => isReset && made.look());
    return () => {
      leave();
      made.stop();
    };
  }, [run.id]);
  useEffect(() => {
    // Messages are also loaded right after the end of the run, because the last messages arrive with it.
    loader.current?.look();
    if (!isLive) return;
    return watchOutput({ runId: run.id, turn: run.turn, stream: 'stdout' }, () => loader.current?.look());
  }, [run.id, run.turn, isLive, turns.length]);
  const { messages, answer, error } = known.run === run.id ? known : nothing(run.id);
  return {
    messages,
    nested: answer?.nested ?? [],
    note: answer?.note ?? null,
    isLoading: answer === null && error === null,
    error,
    showMore: answer && answer.next !== null ? () => loader.current?.more() : null,
    reload: () => loader.current?.look(),
  };
}

const nothing = (run: string): Known => ({ run, messages: [], answer: null, error: null });

/** Loads the missing messages, one page at a time. */
class Loader {
  readonly #run: string;
  readonly #tell: (known: Known) => void;
  #known: Known;
  #most = MAX_MESSAGES;
  #isAsking = false;
  #isWanted = false;
  #isStopped = false;

  constructor(run: string, tell: (known: Known) => void) {
    this.#run = run;
    this.#tell = tell;
    this.#known = nothing(run);
  }

  look(): void {
    // A saved file never changes, so its messages are not loaded again.
    if (saved && (this.#isAsking || this.#known.answer)) return;
    this.#isWanted = true;
    if (!this.#isAsking) void this.#ask();
  }

  more(): void {
    this.#most = this.#known.messages.length + MAX_MESSAGES;
    this.look();
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      try {
        const after = this.#known.messages.length;
        const answer = await call('get_conversation', { run: this.#run, ...(after > 0 && { after }) });
        const messages = [...this.#known.messages, ...answer.messages];
        this.#known = { run: this.#run, messages, answer, error: null };
        if (answer.next !== null && messages.length < this.#most) this.#isWanted = true;
      } catch (thrown) {
        if (!(thrown instanceof ApiError)) throw thrown;
        this.#known = { ...this.#known, error: thrown };
      }
      if (!this.#isStopped) this.#tell(this.#known);
    }
    this.#isAsking = false;
  }
}
