/**
 * What a program finds around it, made inside its own realm: tools, console, timers. Nothing of Node is in this realm, and
 * what comes in from outside is strings and numbers. A program can spoil this realm for itself, no more: the host looks at
 * all that it is told, and the process boundary is the control.
 */
import { createConsole } from './realm-console.ts';
import { createShow } from './show.ts';
import { createTimers } from './timers.ts';

/** What the outside does for the realm. Only realm code ever holds these. */
export interface Outside {
  send(json: string): void;
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
  /** Whether anything can still happen. */
  isWaiting(): boolean;
  /** The program waits, and nothing will ever come. */
  giveUp(): void;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  error: Error;
}

const LONGEST_ERROR = 8000;

function createRealm(outside: Outside): Realm {
  const { stringify, parse } = JSON;
  const { defineProperty, freeze, create } = Object;
  const PromiseOf = Promise;
  const show = createShow();
  const pending: Record<number, Pending> = create(null);
  const rejections = new Map<object, string>();
  let inFlight = 0;
  let calls = 0;
  let hasEnded = false;

  class ToolError extends Error {
    override name = 'ToolError';
  }

  const send = (message: object): void => outside.send(stringify(message));
  const timers = createTimers(outside, fail);

  function fail(thrown: unknown): void {
    end({ type: 'failed', error: text(thrown) });
  }

  function end(message: object): void {
    if (hasEnded) return;
    hasEnded = true;
    send(message);
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
    const id = ++calls;
    return new PromiseOf((resolve, reject) => {
      pending[id] = { resolve, reject, error };
      inFlight++;
      outside.send(`{"type":"call","id":${id},"tool":${stringify(tool)},"args":${args}}`);
    });
  }

  function returned(value: unknown): { returned?: string; omitted?: number } {
    const json = show.json(value);
    if (json === undefined) return {};
    const omitted = json.length - outside.mostChars;
    return omitted > 0 ? { returned: json.slice(0, outside.mostChars), omitted } : { returned: json };
  }

  const tools = create(null);
  for (const name of outside.tools)
    defineProperty(tools, name, { value: (input?: unknown) => call(name, input), enumerable: true });
  const provided: Record<string, unknown> = {
    tools: freeze(tools),
    console: createConsole(line => send({ type: 'print', text: line }), show),
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
        const value = await program();
        end({ type: 'done', ...returned(value), rejections: [...rejections.values()] });
      } catch (thrown) {
        fail(thrown);
      }
    },
    settle(id, isOk, given) {
      const waiting = pending[id];
      if (!waiting) return;
      delete pending[id];
      inFlight--;
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
    isWaiting: () => hasEnded || inFlight > 0 || timers.count() > 0,
    giveUp() {
      const caught = [...rejections.values()].map(each => `\nNobody caught: ${each}`).join('');
      end({ type: 'failed', error: `The program waits for a promise that will never be settled.${caught}` });
    },
  };
}

/** Read by the outside: what the script of the realm evaluates to. */
export { createRealm };
