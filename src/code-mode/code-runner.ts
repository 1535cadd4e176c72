import type { CodeModeOptions, CodeRunner } from './code-mode.ts';
import { declare } from './declarations.ts';
import { startGuest } from './guest-process.ts';
import { createPlaces } from './places.ts';
import { runInSandbox } from './run-in-sandbox.ts';
import type { Sandbox } from './sandbox.ts';
import { createSpareGuest } from './spare-guest.ts';
import { nameTools } from './tool-names.ts';

/** A model may ask for dozens in one breath; each takes a process and up to its limit of memory. */
const MOST_AT_ONCE = 4;

/** Runs programs that a model writes, each in a process of its own, with these tools and nothing else. */
export function createCodeRunner({
  tools,
  limits,
  sandbox,
}: CodeModeOptions & { sandbox: Sandbox }): CodeRunner {
  const named = nameTools(tools);
  const start = () => startGuest(sandbox.command(limits.memoryMb));
  const spare = createSpareGuest(start, limits.memoryMb);
  const places = createPlaces(MOST_AT_ONCE);
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
      const going = places.hold(either, () =>
        runInSandbox({ program, tools: named, limits, signal: either, watch }, { spare: spare.take, start }),
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
