/**
 * What a program finds around it, made inside its own realm: tools, console, timers. Nothing of Node is in this realm, and
 * what comes in from outside is strings and numbers. A program can spoil this realm for itself, no more: the host looks at
 * all that it is told, and the process boundary is the control.
 */
import { isTooIntricate, MAX_VALUES } from '../messages.ts';
import { type CallRoom, createCalls } from './calls.ts';
import { createConsole } from './realm-console.ts';
import { createShow } from './show.ts';
import { createTimers } from './timers.ts';

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

const LONGEST_ERROR = 8000;
/** Told of those that nobody caught. */
const MOST_REJECTIONS = 10;
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

  const text = (thrown: unknown): string => show.error(thrown).slice(0, LONGEST_ERROR);

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
      const lost = [...rejections.values()].slice(0, MOST_REJECTIONS);
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
