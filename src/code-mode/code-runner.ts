import { Limiter } from '../base/limiter.ts';
import type { CodeModeLimits } from '../schema/model-spec.ts';
import type { CallWatch, CodeResult, CodeRunner, CodeTool } from './code-mode.ts';
import { type Guest, startGuest, watchSpare, watchTree } from './guest-process.ts';
import type { GuestMessage } from './messages.ts';
import type { Sandbox } from './sandbox.ts';
import { declare, nameTools } from './schema-type.ts';
import { createToolCalls } from './tool-calls.ts';

/** Collects text and keeps only the first `limit` characters. */
export function createCappedText(limit: number) {
  let kept = '';
  let length = 0;
  return {
    add(text: string) {
      length += text.length;
      if (kept.length < limit) kept += text.slice(0, limit - kept.length);
    },
    /** Returns at most `most` characters, with a note of how much is missing. */
    text: (most = limit) => cutText(kept, Math.max(0, Math.min(most, limit)), length),
  };
}

/** `length` is the length of the whole text, if `text` is only its beginning. */
export function cutText(text: string, most: number, length = text.length): string {
  if (length <= most && text.length === length) return text;
  const kept = text.slice(0, most).toWellFormed();
  return `${kept}\n[${length - kept.length} more characters left out]`;
}

type Outcome = Pick<CodeResult, 'ok' | 'returned' | 'error'>;

const MAX_ERROR_LENGTH = 20_000;

/**
 * Maximum number of characters that a program may print. Higher than the limit of the kept output, so that a program
 * that prints a little too much can still finish.
 */
const maxPrinted = ({ outputChars }: CodeModeLimits): number => 1024 * 1024 + 4 * outputChars;

function done(
  { returned, omitted = 0, rejections }: GuestMessage & { type: 'done' },
  limits: CodeModeLimits,
): Outcome {
  const value =
    returned === undefined ? null : cutText(returned, limits.outputChars, returned.length + omitted);
  if (rejections.length === 0) return { ok: true, returned: value, error: null };
  return {
    ...failed(rejections.map(each => `Unhandled promise rejection: ${each}`).join('\n')),
    returned: value,
  };
}

const failed = (error: string): Outcome => ({
  ok: false,
  returned: null,
  error: cutText(error, MAX_ERROR_LENGTH),
});

/** The guest sent an invalid message. Only a guest that is controlled by its program does that. */
const broken = (): Outcome => failed('The sandbox was ended: it sent an invalid message.');

function limited(limit: 'time' | 'memory' | 'output', limits: CodeModeLimits, inFlight: string[]): Outcome {
  const what = {
    time: `it did not finish within ${limits.timeoutMs / 1000} s`,
    memory: `it used more than ${limits.memoryMb} MB of memory`,
    output: `it printed more than ${maxPrinted(limits)} characters`,
  }[limit];
  const cancelled = inFlight.length === 0 ? '' : ` Cancelled with it: ${counted(inFlight)}.`;
  return failed(`The program was ended: ${what}.${cancelled}`);
}

function vanished(
  { code, signal, failure }: { code: number | null; signal: string | null; failure: Error | null },
  stderr: string,
  limits: CodeModeLimits,
): Outcome {
  if (/out of memory|allocation failed|bad_alloc/i.test(stderr)) return limited('memory', limits, []);
  const how = failure?.message ?? (signal ? `by ${signal}` : `with code ${code}`);
  const detail = stderr.trim().split('\n')[0]?.slice(0, 500);
  return failed(`The sandbox ended unexpectedly, ${how}${detail ? `: ${detail}` : '.'}`);
}

const notAwaited = (names: string[]): string =>
  `[The program returned without waiting for ${counted(names)}: cancelled, may or may not have taken effect]\n`;

/** Formats calls with their counts: `read (3), write`. */
function counted(names: string[]): string {
  const each = [...Map.groupBy(names, name => name)];
  return each.map(([name, of]) => (of.length > 1 ? `${name} (${of.length})` : name)).join(', ');
}

interface SandboxRun {
  program: string;
  tools: ReadonlyMap<string, CodeTool>;
  limits: CodeModeLimits;
  signal: AbortSignal;
  watch: CallWatch;
}

interface Guests {
  /** Returns a guest that was started in advance, if there is one. */
  spare(): Guest | null;
  start(): Guest;
}

const MAX_PROGRAM_CHARS = 1024 * 1024;

/** Runs a program in its own process. When this settles, nothing of the process is left. Rejects only when aborted. */
export async function runInSandbox(run: SandboxRun, guests: Guests): Promise<CodeResult> {
  run.signal.throwIfAborted();
  if (run.program.length > MAX_PROGRAM_CHARS)
    return { ...failed(`The program is longer than ${MAX_PROGRAM_CHARS} characters.`), output: '' };
  const spare = guests.spare();
  if (spare) {
    const { result, exitedBeforeStart } = await runIn(spare, run);
    if (!exitedBeforeStart) return result;
  }
  return (await runIn(guests.start(), run)).result;
}

interface Attempt {
  result: CodeResult;
  /** True if the guest exited before it received the program, so that no part of the program has run. */
  exitedBeforeStart: boolean;
}

async function runIn(guest: Guest, { program, tools, limits, signal, watch }: SandboxRun): Promise<Attempt> {
  const { promise: over, resolve } = Promise.withResolvers<Outcome>();
  const output = createCappedText(limits.outputChars);
  const calls = createToolCalls(tools, guest.pipe, watch);
  let printed = 0;
  let hasBegun = false;
  let exitedBeforeStart = false;
  let isOver = false;

  function end(outcome: Outcome): void {
    isOver = true;
    resolve(outcome);
  }

  function take(message: GuestMessage, bytes: number): void {
    if (isOver) return;
    if (message.type === 'begun') hasBegun = true;
    else if (message.type === 'print') print(message.text);
    else if (message.type === 'call') {
      if (!calls.start(message, bytes)) end(broken());
    } else if (message.type === 'done') end(done(message, limits));
    else if (message.type === 'failed') end(failed(message.error));
  }

  function print(text: string): void {
    output.add(text);
    printed += text.length;
    if (printed > maxPrinted(limits)) end(limited('output', limits, calls.inFlight()));
  }

  guest.listen({
    message: take,
    invalid: () => end(broken()),
    exited(how, stderr) {
      exitedBeforeStart = !hasBegun && !isOver;
      end(vanished(how, stderr, limits));
    },
  });
  const onAbort = () => end(failed('The program was cancelled.'));
  signal.addEventListener('abort', onAbort, { once: true });
  const stopWatching =
    guest.pid === null
      ? () => {}
      : watchTree(guest.pid, limits, limit => end(limited(limit, limits, calls.inFlight())));
  guest.send({ type: 'run', program, tools: [...tools.keys()], maxChars: limits.outputChars });

  const outcome = await over;
  const unfinished = outcome.ok ? calls.inFlight() : [];
  stopWatching();
  signal.removeEventListener('abort', onAbort);
  calls.cancelAll();
  await guest.end();
  signal.throwIfAborted();
  if (unfinished.length > 0) output.add(notAwaited(unfinished));
  const room = limits.outputChars - (outcome.returned?.length ?? 0);
  return { result: { ...outcome, output: output.text(room) }, exitedBeforeStart };
}

interface Waiting {
  guest: Guest;
  isUp: Promise<void>;
  release(): void;
}

/**
 * A guest that is started before the next program arrives, with the type stripper loaded. Programs share nothing
 * through it: it serves one program, and only Squad's own code has run in it before.
 */
export function createSpareGuest(start: () => Guest, memoryMb: number) {
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

  /** Returns the spare guest, or null if there is none. The caller must end the guest. */
  function take(): Guest | null {
    const taken = waiting?.guest ?? null;
    waiting?.release();
    return taken;
  }

  return {
    /** Starts a guest unless there is one. Resolves when the guest is ready, taken or gone. Never rejects. */
    async prepare() {
      try {
        waiting ??= begin();
      } catch {
        // The error is ignored, because starting a guest for the program will fail with the same error.
      }
      await waiting?.isUp;
    },
    take,
    /** Resolves when a guest that was not taken has ended completely. */
    async end() {
      await Promise.all([take()?.end(), ends]);
    },
  };
}

/**
 * Limits the programs that run at once, because a model may start dozens in one turn. Each needs a process and up to
 * its memory limit.
 */
const MAX_AT_ONCE = 4;

interface CodeRunnerOptions {
  tools: readonly CodeTool[];
  limits: CodeModeLimits;
  sandbox: Sandbox;
}

/** Runs programs that a model writes. Each has its own process, these tools, and nothing else. */
export function createCodeRunner({ tools, limits, sandbox }: CodeRunnerOptions): CodeRunner {
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
