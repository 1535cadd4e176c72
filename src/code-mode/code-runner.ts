import { Limiter } from '../base/limiter.ts';
import type { CodeModeOptions, CodeRunner } from './code-mode.ts';
import { declare } from './declarations.ts';
import { type Guest, startGuest } from './guest-process.ts';
import { runInSandbox } from './run-in-sandbox.ts';
import type { Sandbox } from './sandbox.ts';
import { nameTools } from './schema-type.ts';
import { watchSpare } from './watchdog.ts';

/**
 * A guest that is started ahead of the next program, with the type stripper loaded. Programs share nothing through it: it serves
 * one program, and only Squad's own code has run in it before.
 */
export interface SpareGuest {
  /** Starts a guest unless there is one. Resolves when it is ready, taken or gone; never rejects. */
  prepare(): Promise<void>;
  /** Null if there is none. The caller must end the guest. */
  take(): Guest | null;
  /** Resolves when nothing is left of a guest that was not taken. */
  end(): Promise<void>;
}

interface Waiting {
  guest: Guest;
  isUp: Promise<void>;
  release(): void;
}

export function createSpareGuest(start: () => Guest, memoryMb: number): SpareGuest {
  let waiting: Waiting | null = null;
  let ends: Promise<unknown> = Promise.resolve();

  function begin(): Waiting {
    const guest = start();
    const { promise: isUp, resolve } = Promise.withResolvers<void>();
    const drop = () => {
      begun.release();
      ends = Promise.all([ends, guest.end()]);
    };
    const stopWatching = guest.pid === null ? () => {} : watchSpare(guest.pid, memoryMb, drop);
    const begun: Waiting = {
      guest,
      isUp,
      release() {
        stopWatching();
        resolve();
        if (waiting === begun) waiting = null;
      },
    };
    guest.listen({
      message: ({ type }) => (type === 'prepared' ? resolve() : drop()),
      invalid: drop,
      exited: drop,
    });
    guest.send({ type: 'prepare' });
    return begun;
  }

  function take(): Guest | null {
    const taken = waiting?.guest ?? null;
    waiting?.release();
    return taken;
  }

  return {
    async prepare() {
      try {
        waiting ??= begin();
      } catch {
        // Starting the guest for the program will fail with the same error and report it.
      }
      await waiting?.isUp;
    },
    take,
    async end() {
      await Promise.all([take()?.end(), ends]);
    },
  };
}

/** A model may start dozens of programs in one turn. Each takes a process and up to its memory limit. */
const MAX_AT_ONCE = 4;

/** Runs programs that a model writes. Each has its own process, these tools, and nothing else. */
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
