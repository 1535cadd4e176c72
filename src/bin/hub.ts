/** Starts the hub with code that an earlier hub compiled, and saves the compiled code once the hub serves. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { KeptCode } from '../hub/kept-code.ts';
import { homeFolder } from '../link/home.ts';

/** Time after which the start counts as finished. The client that started the hub has its first answers by then. */
const SETTLED_MS = 1_000;

/**
 * Modules of Node that are used only after the first client has its answer. Loading them takes as long as opening the
 * database.
 */
const NEEDED_LATER = new Set(
  ['child_process', 'dns', 'http', 'https', 'readline', 'stream/consumers', 'worker_threads', 'zlib'].map(
    name => `node:${name}`,
  ),
);

const cache = join(homeFolder(process.env), 'cache');
enableCompileCache(cache); // compile cache for parts that are loaded on demand; creates the folder
const code = new KeptCode(join(__dirname, 'hub-main.cjs'), join(cache, 'hub.code'));
const { started } = loadWithoutTurbofan() as typeof import('./hub-main.ts');
void started.then(() => setTimeout(settle, SETTLED_MS).unref());

function settle(): void {
  try {
    code.save();
  } catch {
    // The disk is full, or the home was removed: the next start compiles again.
  }
  // By default V8 lets the heap grow to four times its live objects before it collects, which is too much for a hub
  // that runs all day.
  setFlagsFromString('--heap-growing-percent=30');
  collectWhenQuiet();
}

/** Share of a second that the hub may work and still count as idle. */
const QUIET_SHARE = 0.05;

/**
 * Returns the memory that only the start needed. The collection blocks the hub for 0.1 s, or 0.5 s on a busy machine,
 * so it waits for a second in which nobody asks for anything.
 */
function collectWhenQuiet(): void {
  let last = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(last);
    last = performance.eventLoopUtilization();
    if (utilization > QUIET_SHARE) return;
    clearInterval(timer);
    // `--expose-gc` is set late, because V8 rejects the compiled code of Node's own modules after a flag has changed.
    setFlagsFromString('--expose-gc');
    const collect: (how: object) => void = runInNewContext('gc');
    setFlagsFromString('--no-expose-gc');
    collect({ type: 'major', flavor: 'last-resort' });
  }, SETTLED_MS).unref();
}

/**
 * Loading creates thousands of zod schemas. To optimize that, V8 would load 5 MB of its compiler for code that hardly
 * runs again. Modules required during loading get the usual flags, because V8 rejects code that was compiled with other
 * flags.
 */
function loadWithoutTurbofan(): unknown {
  const loaded = new Map<string, unknown>();
  let isLoading = true;
  setFlagsFromString('--no-turbofan');
  const program = code.run(load => {
    const loadOnce = (name: string): unknown => {
      if (!loaded.has(name)) {
        if (isLoading) setFlagsFromString('--turbofan');
        loaded.set(name, load(name));
        if (isLoading) setFlagsFromString('--no-turbofan');
      }
      return loaded.get(name);
    };
    return name => (NEEDED_LATER.has(name) ? whenUsed(() => loadOnce(name) as object) : loadOnce(name));
  });
  isLoading = false;
  setFlagsFromString('--turbofan');
  return program;
}

/**
 * Loads a module when one of its functions is first used. This works because the bundle reads each function from its
 * module at the call.
 */
function whenUsed(load: () => object): object {
  return new Proxy({}, { get: (_, name) => Reflect.get(load(), name) });
}
