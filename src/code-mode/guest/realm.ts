/**
 * What a program finds around it, made inside its own realm: tools, console, timers. Nothing of Node is in this realm, and
 * what comes in from outside is strings and numbers. A program can spoil this realm for itself, no more: the host looks at
 * all that it is told, and the process boundary is the control.
 */
import { isTooIntricate, MAX_VALUES } from '../messages.ts';

export interface CallRoom {
  send(json: string): void;
  mostCalls: number;
  /** Of all calls in flight together. */
  mostCallChars: number;
}

/** Calls on their way out: no more at once than the host takes, the others in the order they were made. */
export function createCalls(room: CallRoom) {
  const waiting = new Map<number, string>();
  const lengths = new Map<number, number>();
  let chars = 0;

  function sendMore(): void {
    for (const [id, json] of waiting) {
      if (lengths.size >= room.mostCalls || chars + json.length > room.mostCallChars) return;
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
/** A message may not be longer than the host takes. */
const MAX_PIECE_LENGTH = 256 * 1024;

/** The console of a program: a line each, in the order they come. */
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

/** Values as text, for somebody who reads: nothing is lost without a word where plain JSON would lose it. */
export interface Show {
  /** Undefined for what is nothing in JSON: undefined, a function. */
  json(value: unknown): string | undefined;
  /** For the console: strings as they are. */
  value(value: unknown): string;
  /** What was thrown, with the lines of the program it came through. */
  error(thrown: unknown): string;
}

export function createShow(): Show {
  const { stringify } = JSON;

  function json(value: unknown): string | undefined {
    const above: unknown[] = [];
    return stringify(value, function (this: unknown, _key, each: unknown) {
      if (typeof each === 'bigint') return `${each}n`;
      if (typeof each !== 'object' || each === null) return each;
      // `this` holds the value: what is below it in the list is no longer above it.
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

/** Also those of Node's own realm. */
const isError = (value: unknown): value is Error =>
  typeof value === 'object' && value !== null && Object.prototype.toString.call(value) === '[object Error]';

/** Its own text is the only one with this name. */
const isOfProgram = (line: string): boolean => /^\s+at .*program\.ts:\d+/.test(line);

type Act = (...args: unknown[]) => void;

/** Timers of the realm: the outside knows only their numbers. */
export function createTimers(
  outside: { setTimer(id: number, ms: number): void; clearTimer(id: number): void },
  fail: (thrown: unknown) => void,
) {
  const waiting = new Map<number, { act: Act; args: unknown[]; everyMs: number | null }>();
  let last = 0;

  function set(act: Act, ms: unknown, args: unknown[], isRepeated: boolean): number {
    if (typeof act !== 'function') throw new TypeError('A timer takes a function');
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

/** What the outside does for the realm. Only realm code ever holds these. */
export interface Outside extends CallRoom {
  setTimer(id: number, ms: number): void;
  clearTimer(id: number): void;
  tools: readonly string[];
  mostChars: number;
  mostArgumentChars: number;
}

/** What the outside calls. */
export interface Realm {
  start(program: () => Promise<unknown>): Promise<void>;
  settle(id: number, isOk: boolean, text: string | undefined): void;
  fire(timer: number): void;
  rejected(promise: object, reason: unknown): void;
  handled(promise: object): void;
  /** Called when all that could be done has been: tells the end, if this is it. */
  look(): void;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  error: Error;
}

const MAX_ERROR_LENGTH = 8000;
/** Told of those that nobody caught. */
const MAX_REJECTIONS = 10;
const STUCK = 'The program waits for a promise that will never be settled.';

/** Called by the outside: what the script of the realm evaluates to has it. */
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
  /** What the program came to. It is told when Node has said which promises nobody caught. */
  let result: string | null = null;

  class ToolError extends Error {
    override name = 'ToolError';
  }

  /** Put together from strings: JSON of objects is the program's to change. */
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
    // Made here, where the program's own line is on the stack.
    const error = new ToolError(`tools.${tool} failed`);
    if (typeof input !== 'object' || input === null || Array.isArray(input))
      throw new TypeError(`tools.${tool} takes one object`);
    const args = stringify(input);
    if (typeof args !== 'string' || args[0] !== '{') throw new TypeError(`tools.${tool} takes one object`);
    if (args.length > outside.mostArgumentChars)
      throw new RangeError(
        `tools.${tool}: its argument is longer than ${outside.mostArgumentChars} characters`,
      );
    if (isTooIntricate(args))
      throw new RangeError(
        `tools.${tool}: its argument has more than ${MAX_VALUES} values, or is nested too deeply`,
      );
    const id = ++last;
    return new PromiseOf((resolve, reject) => {
      pending[id] = { resolve, reject, error };
      calls.send(id, `{"type":"call","id":${id},"tool":${stringify(tool)},"args":${args}}`);
    });
  }

  /** As fields of the message. */
  function returned(value: unknown): string {
    const json = show.json(value);
    if (json === undefined) return '';
    const omitted = Math.max(0, json.length - outside.mostChars);
    return `"returned":${stringify(json.slice(0, outside.mostChars))},"omitted":${omitted},`;
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
  // It would wake up a program that the outside takes for stuck.
  Reflect.deleteProperty(Atomics, 'waitAsync');

  return {
    async start(program) {
      try {
        // Not `then`, which the program may have changed.
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
      // The stack begins with the message it was made with.
      const frames = typeof stack === 'string' ? stack.slice(stack.indexOf('\n')) : '';
      defineProperty(waiting.error, 'stack', { value: `ToolError: ${given}${frames}` });
      waiting.reject(waiting.error);
    },
    fire: timers.fire,
    rejected: (promise, reason) => void rejections.set(promise, text(reason)),
    handled: promise => void rejections.delete(promise),
    look() {
      const lost = [...rejections.values()].slice(0, MAX_REJECTIONS);
      if (result !== null)
        end('done', `${result}"rejections":[${lost.map(each => stringify(each)).join(',')}]`);
      else if (calls.inFlight() === 0 && timers.count() === 0)
        end('failed', `"error":${stringify([STUCK, ...lost].join('\nNobody caught: '))}`);
    },
  };
}

/** The stack may end in a function of the outside, and that error is not of this realm: the program gets one that is. */
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
