/**
 * The environment of a program: tools, console and timers, created inside the program's own realm. The realm has nothing of Node,
 * and gets only strings and numbers from outside. A program can break its realm only for itself: the host validates all messages,
 * and the process boundary is the security control.
 */
import { isTooComplex, MAX_VALUES } from '../messages.ts';

export interface CallRoom {
  send(json: string): void;
  maxCalls: number;
  /** Limit for all calls in flight together. */
  maxCallChars: number;
}

/** Sends calls within the host's limits. Further calls wait in order. */
export function createCalls(room: CallRoom) {
  const waiting = new Map<number, string>();
  const lengths = new Map<number, number>();
  let chars = 0;

  function sendMore(): void {
    for (const [id, json] of waiting) {
      if (lengths.size >= room.maxCalls || chars + json.length > room.maxCallChars) return;
      waiting.delete(id);
      lengths.set(id, json.length);
      chars += json.length;
      room.send(json);
    }
  }

  return {
    send(id: number, json: string): void {
      waiting.set(id, json);
      sendMore();
    },
    settled(id: number): void {
      chars -= lengths.get(id) ?? 0;
      lengths.delete(id);
      sendMore();
    },
    inFlight: () => lengths.size,
  };
}

const PLAIN = ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace'];
/** Maximum length of one console message. Longer lines are split, because the host limits the size of a message. */
const MAX_PIECE_LENGTH = 256 * 1024;

export function createConsole(print: (line: string) => void, show: Show): Record<string, unknown> {
  let indent = '';

  function line(values: unknown[]): void {
    const text = `${indent}${values.map(show.value).join(' ')}\n`;
    for (let at = 0; at < text.length; at += MAX_PIECE_LENGTH) print(text.slice(at, at + MAX_PIECE_LENGTH));
  }

  const counts = new Map<string, number>();
  const begun = new Map<string, number>();
  const elapsed = (label: string) => `${label}: ${Date.now() - (begun.get(label) ?? Date.now())} ms`;
  return {
    ...Object.fromEntries(PLAIN.map(name => [name, (...values: unknown[]) => line(values)])),
    assert: (isSo: unknown, ...values: unknown[]) => isSo || line(['Assertion failed', ...values]),
    group(...values: unknown[]) {
      line(values);
      indent += '  ';
    },
    groupEnd() {
      indent = indent.slice(2);
    },
    count(label = 'default') {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      line([`${label}: ${counts.get(label)}`]);
    },
    time: (label = 'default') => void begun.set(label, Date.now()),
    timeLog: (label = 'default') => line([elapsed(label)]),
    timeEnd: (label = 'default') => line([elapsed(label)]),
  };
}

/** Formats values for the model. Shows values that plain JSON would drop. */
export interface Show {
  /** Undefined for values that JSON omits: undefined and functions. */
  json(value: unknown): string | undefined;
  /** Formats a value for the console: strings stay unchanged. */
  value(value: unknown): string;
  /** Formats an exception with only those stack frames that belong to the program. */
  error(thrown: unknown): string;
}

export function createShow(): Show {
  const { stringify } = JSON;

  function json(value: unknown): string | undefined {
    const above: unknown[] = [];
    return stringify(value, function (this: unknown, _key, each: unknown) {
      if (typeof each === 'bigint') return `${each}n`;
      if (typeof each !== 'object' || each === null) return each;
      // `this` is the object that contains the value. Objects in `above` after `this` are complete.
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      if (above.includes(each)) return '[circular]';
      const plain = plainOf(each);
      above.push(plain);
      return plain;
    });
  }

  function plainOf(value: object): object | string {
    if (value instanceof Map || value instanceof Set) return [...value];
    if (isError(value)) return `${value.name}: ${value.message}`;
    return value;
  }

  function showValue(value: unknown): string {
    if (typeof value === 'string') return value;
    if (isError(value)) return showError(value);
    try {
      if (typeof value === 'function') return `[function ${value.name}]`;
      return json(value) ?? String(value);
    } catch (thrown) {
      return `[cannot be shown: ${showError(thrown)}]`;
    }
  }

  function showError(thrown: unknown): string {
    try {
      if (!isError(thrown)) return `Thrown: ${showValue(thrown)}`;
      const { name, message, stack, cause } = thrown;
      const frames = typeof stack === 'string' ? stack.split('\n').filter(isOfProgram) : [];
      const because = cause === undefined ? '' : `\ncaused by ${showError(cause)}`;
      return `${[`${name}: ${message}`, ...frames].join('\n')}${because}`;
    } catch {
      return 'Thrown: something that cannot be shown';
    }
  }

  return { json, value: showValue, error: showError };
}

/** Whether a value is an error, including errors of Node's own realm. */
const isError = (value: unknown): value is Error =>
  typeof value === 'object' && value !== null && Object.prototype.toString.call(value) === '[object Error]';

/** Whether a stack line belongs to the program, which has its own file name. */
const isOfProgram = (line: string): boolean => /^\s+at .*program\.ts:\d+/.test(line);

type Act = (...args: unknown[]) => void;

/** Timers of the program's realm. Code outside the realm knows only their ids. */
export function createTimers(
  outside: { setTimer(id: number, ms: number): void; clearTimer(id: number): void },
  fail: (thrown: unknown) => void,
) {
  const waiting = new Map<number, { act: Act; args: unknown[]; everyMs: number | null }>();
  let last = 0;

  function set(act: Act, ms: unknown, args: unknown[], isRepeated: boolean): number {
    if (typeof act !== 'function') throw new TypeError('The callback of a timer must be a function');
    const delay = Math.max(1, Math.min(Number(ms) || 0, 2 ** 31 - 1));
    const id = ++last;
    waiting.set(id, { act, args, everyMs: isRepeated ? delay : null });
    outside.setTimer(id, delay);
    return id;
  }

  function clear(id: unknown): void {
    if (typeof id === 'number' && waiting.delete(id)) outside.clearTimer(id);
  }

  return {
    functions: {
      setTimeout: (act: Act, ms?: unknown, ...args: unknown[]) => set(act, ms, args, false),
      setInterval: (act: Act, ms?: unknown, ...args: unknown[]) => set(act, ms, args, true),
      setImmediate: (act: Act, ...args: unknown[]) => set(act, 0, args, false),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
    },
    count: () => waiting.size,
    fire(id: number): void {
      const timer = waiting.get(id);
      if (!timer) return;
      const { act, args } = timer;
      if (timer.everyMs === null) waiting.delete(id);
      try {
        act(...args);
      } catch (thrown) {
        fail(thrown);
      }
      if (timer.everyMs !== null && waiting.has(id)) outside.setTimer(id, timer.everyMs);
    },
  };
}

/** Functions and limits from outside the realm. The program never gets a reference to them. */
export interface Outside extends CallRoom {
  setTimer(id: number, ms: number): void;
  clearTimer(id: number): void;
  tools: readonly string[];
  maxChars: number;
  maxArgumentChars: number;
}

/** Functions that code outside the realm calls. */
export interface Realm {
  start(program: () => Promise<unknown>): Promise<void>;
  settle(id: number, isOk: boolean, text: string | undefined): void;
  fire(timer: number): void;
  rejected(promise: object, reason: unknown): void;
  handled(promise: object): void;
  /** Called after every event: reports the end of the program if it has finished or can no longer continue. */
  reportEnd(): void;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  error: Error;
}

const MAX_ERROR_LENGTH = 8000;
/** Maximum number of unhandled rejections that are reported. */
const MAX_REJECTIONS = 10;
const STUCK = 'The program waits for a promise that will never settle.';

/** The realm's script evaluates to an object with this function, and code outside the realm calls it. */
export function createRealm(given: Outside): Realm {
  const outside = guarded(given);
  const { stringify, parse } = JSON;
  const { defineProperty, freeze, create } = Object;
  const PromiseOf = Promise;
  const show = createShow();
  const pending: Record<number, Pending> = create(null);
  const calls = createCalls(outside);
  const rejections = new Map<object, string>();
  let last = 0;
  let hasEnded = false;
  /**
   * Result of the program, once it has returned. The guest sends the result after Node has reported unhandled
   * rejections.
   */
  let result: string | null = null;

  class ToolError extends Error {
    override name = 'ToolError';
  }

  /** Builds a message from strings, because a program can change how objects are converted to JSON. */
  const say = (type: string, fields: string): void => outside.send(`{"type":"${type}",${fields}}`);
  const timers = createTimers(outside, fail);

  function fail(thrown: unknown): void {
    end('failed', `"error":${stringify(text(thrown))}`);
  }

  function end(type: string, fields: string): void {
    if (hasEnded) return;
    hasEnded = true;
    say(type, fields);
  }

  const text = (thrown: unknown): string => show.error(thrown).slice(0, MAX_ERROR_LENGTH);

  function call(tool: string, input: unknown = {}): Promise<unknown> {
    // The error is created here, so that its stack contains the line of the program.
    const error = new ToolError(`tools.${tool} failed`);
    if (typeof input !== 'object' || input === null || Array.isArray(input))
      throw new TypeError(`tools.${tool} takes one object`);
    const args = stringify(input);
    if (typeof args !== 'string' || args[0] !== '{') throw new TypeError(`tools.${tool} takes one object`);
    if (args.length > outside.maxArgumentChars)
      throw new RangeError(
        `tools.${tool}: the argument is longer than ${outside.maxArgumentChars} characters`,
      );
    if (isTooComplex(args))
      throw new RangeError(
        `tools.${tool}: the argument has more than ${MAX_VALUES} values or is nested too deeply`,
      );
    const id = ++last;
    return new PromiseOf((resolve, reject) => {
      pending[id] = { resolve, reject, error };
      calls.send(id, `{"type":"call","id":${id},"tool":${stringify(tool)},"args":${args}}`);
    });
  }

  /** Fields of the `done` message. */
  function returned(value: unknown): string {
    const json = show.json(value);
    if (json === undefined) return '';
    const omitted = Math.max(0, json.length - outside.maxChars);
    return `"returned":${stringify(json.slice(0, outside.maxChars))},"omitted":${omitted},`;
  }

  const tools = create(null);
  for (const name of outside.tools)
    defineProperty(tools, name, { value: (input?: unknown) => call(name, input), enumerable: true });
  const provided: Record<string, unknown> = {
    tools: freeze(tools),
    console: createConsole(line => say('print', `"text":${stringify(line)}`), show),
    ToolError,
    ...timers.functions,
    queueMicrotask: (act: () => void) => void PromiseOf.resolve().then(act),
  };
  for (const name of Object.keys(provided))
    defineProperty(globalThis, name, { value: provided[name], writable: true, configurable: true });
  Reflect.deleteProperty(globalThis, 'WebAssembly');
  // A pending `waitAsync` could wake up a program that was already reported as stuck, so the function is removed.
  Reflect.deleteProperty(Atomics, 'waitAsync');

  return {
    async start(program) {
      try {
        // `await` is used instead of `then`, because the program may have replaced `then`.
        result = returned(await program());
      } catch (thrown) {
        fail(thrown);
      }
    },
    settle(id, isOk, given) {
      const waiting = pending[id];
      if (!waiting) return;
      delete pending[id];
      calls.settled(id);
      if (isOk) return waiting.resolve(given === undefined ? undefined : parse(given));
      defineProperty(waiting.error, 'message', { value: given });
      const { stack } = waiting.error;
      // The stack still begins with the original message.
      const frames = typeof stack === 'string' ? stack.slice(stack.indexOf('\n')) : '';
      defineProperty(waiting.error, 'stack', { value: `ToolError: ${given}${frames}` });
      waiting.reject(waiting.error);
    },
    fire: timers.fire,
    rejected: (promise, reason) => void rejections.set(promise, text(reason)),
    handled: promise => void rejections.delete(promise),
    reportEnd() {
      const lost = [...rejections.values()].slice(0, MAX_REJECTIONS);
      if (result !== null)
        end('done', `${result}"rejections":[${lost.map(each => stringify(each)).join(',')}]`);
      else if (calls.inFlight() === 0 && timers.count() === 0)
        end('failed', `"error":${stringify([STUCK, ...lost].join('\nUnhandled rejection: '))}`);
    },
  };
}

/**
 * Replaces errors of the outer realm, such as a stack overflow in an outside function, by errors of the program's own
 * realm.
 */
function guarded(outside: Outside): Outside {
  const RangeErrorOf = RangeError;
  const guard =
    <T extends unknown[]>(act: (...args: T) => void) =>
    (...args: T): void => {
      try {
        act(...args);
      } catch {
        throw new RangeErrorOf('Maximum call stack size exceeded');
      }
    };
  return {
    ...outside,
    send: guard(outside.send),
    setTimer: guard(outside.setTimer),
    clearTimer: guard(outside.clearTimer),
  };
}
