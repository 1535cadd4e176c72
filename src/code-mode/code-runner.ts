import { Limiter } from '../base/limiter.ts';
import type { CodeModeOptions, CodeRunner } from './code-mode.ts';
import { declare } from './declarations.ts';
import { type Guest, startGuest } from './guest-process.ts';
import { runInSandbox } from './run-in-sandbox.ts';
import type { Sandbox } from './sandbox.ts';
import { nameTools } from './schema-type.ts';
import { watchSpare } from './watchdog.ts';

/**
 * A guest started ahead, with what removes types loaded in it, so that the next program finds it up. Programs share nothing
 * through it: it serves one of them, and before that nothing but Squad's own code has run in it.
 */
export interface SpareGuest {
  /** Starts one where there is none. Settles when it is up, taken or gone; never rejects. */
  prepare(): Promise<void>;
  /** Null where there is none. Whoever takes it ends it. */
  take(): Guest | null;
  /** When this settles nothing that was not taken is left. */
  end(): Promise<void>;
}

interface Waiting {
  guest: Guest;
  isUp: Promise<void>;
  /** It is no longer ours to look after. */
  letGo(): void;
}

export function createSpareGuest(start: () => Guest, memoryMb: number): SpareGuest {
  let waiting: Waiting | null = null;
  let ends: Promise<unknown> = Promise.resolve();

  function begin(): Waiting {
    const guest = start();
    const { promise: isUp, resolve } = Promise.withResolvers<void>();
    const drop = () => {
      begun.letGo();
      ends = Promise.all([ends, guest.end()]);
    };
    const stopWatching = guest.pid === null ? () => {} : watchSpare(guest.pid, memoryMb, drop);
    const begun: Waiting = {
      guest,
      isUp,
      letGo() {
        stopWatching();
        resolve();
        if (waiting === begun) waiting = null;
      },
    };
    guest.hear({
      message: ({ type }) => (type === 'prepared' ? resolve() : drop()),
      nonsense: drop,
      gone: drop,
    });
    guest.send({ type: 'prepare' });
    return begun;
  }

  function take(): Guest | null {
    const taken = waiting?.guest ?? null;
    waiting?.letGo();
    return taken;
  }

  return {
    async prepare() {
      try {
        waiting ??= begin();
      } catch {
        // The start of the program itself will tell why.
      }
      await waiting?.isUp;
    },
    take,
    async end() {
      await Promise.all([take()?.end(), ends]);
    },
  };
}

/** A model may ask for dozens in one breath; each takes a process and up to its limit of memory. */
const MAX_AT_ONCE = 4;

/** Runs programs that a model writes, each in a process of its own, with these tools and nothing else. */
export function createCodeRunner({
  tools,
  limits,
  sandbox,
}: CodeModeOptions & { sandbox: Sandbox }): CodeRunner {
  const named = nameTools(tools);
  const start = () => startGuest(sandbox.command(limits.memoryMb));
  const spare = createSpareGuest(start, limits.memoryMb);
  const places = new Limiter(MAX_AT_ONCE);
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();

  async function close(): Promise<void> {
    closing.abort(new Error('Code mode has been closed.'));
    await Promise.allSettled([...running, spare.end()]);
  }

  return {
    declarations: declare(named),
    async prepare() {
      if (!closing.signal.aborted) await spare.prepare();
    },
    async run(program, signal, watch = () => () => {}) {
      const either = AbortSignal.any([signal, closing.signal]);
      const guests = { spare: spare.take, start };
      const going = places.run(
        () => runInSandbox({ program, tools: named, limits, signal: either, watch }, guests),
        either,
      );
      running.add(going);
      try {
        return await going;
      } finally {
        running.delete(going);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
