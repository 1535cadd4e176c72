import { type Context, compileFunction, createContext, Script } from 'node:vm';

/** A template takes microseconds. One that takes this long does not end, and everybody waits for it. */
const MAX_RUN_MS = 250;

export class RanTooLong extends Error {}

/**
 * JavaScript that cannot hold up the hub: it is compiled where its promises are its own, and they are run, and cut off,
 * together with it. One such place serves all, because making one costs more than running a template.
 */
export function compileBounded(
  code: string,
  names: string[],
  { filename, mayLoop }: { filename: string; mayLoop: boolean },
): (...values: unknown[]) => void {
  // A limit costs a thread, which is ten times what the rest of the work does.
  if (!mayLoop) return (...values) => void compileFunction(code, names, { filename })(...values);
  room ??= createContext({}, { microtaskMode: 'afterEvaluate' });
  const place = room;
  const run = compileFunction(code, names, { filename, parsingContext: place });
  return (...values) => {
    place.run = () => void run(...values);
    try {
      CALL.runInContext(place, { timeout: MAX_RUN_MS });
    } catch (thrown) {
      if ((thrown as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
      // What it still has to do would go on with the next one.
      room = null;
      throw new RanTooLong(`ran longer than ${MAX_RUN_MS} ms`);
    } finally {
      place.run = null;
    }
  };
}

const CALL = new Script('run()');
let room: Context | null = null;
