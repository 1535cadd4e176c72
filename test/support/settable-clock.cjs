/**
 * Loaded into a hub before anything else, this gives it a wall clock that a test sets: `CLOCK_FILE` holds how far it was set, in
 * milliseconds, and when; `CLOCK_FILE.taken` is there once the hub goes by it. The monotonic clock stays as it is. File times after
 * that moment are by the new clock, as they would be on a machine. libfaketime leaves file times alone, so that a hub under it would
 * see two clocks.
 */
const fs = require('node:fs');

const REREAD_MS = 5;
// The hub drops variables that it does not know.
const FILE = process.env.CLOCK_FILE;
const RealDate = Date;
const { readFileSync } = fs;
let set = { by: 0, at: Number.POSITIVE_INFINITY };
let readAt = Number.NEGATIVE_INFINITY;

function current() {
  if (performance.now() - readAt > REREAD_MS) {
    readAt = performance.now();
    try {
      const next = JSON.parse(readFileSync(FILE, 'utf8'));
      if (next.at !== set.at) fs.writeFileSync(`${FILE}.taken`, '');
      set = next;
    } catch {} // not set yet, or just being written
  }
  return set;
}

const now = () => RealDate.now() + current().by;

globalThis.Date = new Proxy(RealDate, {
  get: (date, key) => (key === 'now' ? now : Reflect.get(date, key)),
  construct: (date, args, target) => Reflect.construct(date, args.length === 0 ? [now()] : args, target),
});

function shifted(stats) {
  const { by, at } = current();
  for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) {
    const ms = stats?.[`${name}Ms`];
    if (typeof ms === 'number' && ms >= at) stats[`${name}Ms`] = ms + by;
  }
  return stats;
}

for (const name of ['statSync', 'lstatSync', 'fstatSync']) {
  const real = fs[name];
  fs[name] = (...args) => shifted(real(...args));
}
for (const name of ['stat', 'lstat']) {
  const real = fs.promises[name];
  fs.promises[name] = async (...args) => shifted(await real(...args));
}
