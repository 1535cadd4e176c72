/** Names of the language. Node's own globals are left out: many load on first use. */
const LANGUAGE = [
  ...['AggregateError', 'Array', 'ArrayBuffer', 'AsyncDisposableStack', 'Atomics', 'BigInt', 'BigInt64Array'],
  ...['BigUint64Array', 'Boolean', 'DataView', 'Date', 'DisposableStack', 'Error', 'EvalError'],
  ...[
    'FinalizationRegistry',
    'Float16Array',
    'Float32Array',
    'Float64Array',
    'Function',
    'Int16Array',
    'Int32Array',
  ],
  ...['Int8Array', 'Intl', 'Iterator', 'JSON', 'Map', 'Math', 'Number'],
  ...['Object', 'Promise', 'Proxy', 'RangeError', 'ReferenceError', 'Reflect', 'RegExp'],
  ...['Set', 'SharedArrayBuffer', 'String', 'SuppressedError', 'Symbol', 'SyntaxError', 'TypeError'],
  ...['URIError', 'Uint16Array', 'Uint32Array', 'Uint8Array', 'Uint8ClampedArray', 'WeakMap', 'WeakRef'],
  ...['WeakSet'],
];

/** Values with prototypes that have no name. */
const samples = (): unknown[] => [
  function* () {},
  async function* () {},
  async () => {},
  (function* () {})(),
  (async function* () {})(),
  [].values(),
  new Map().values(),
  new Set().values(),
  ''[Symbol.iterator](),
  ''.matchAll(/x/g),
  ...helpers(),
];

/** Iterator helpers, which the compiler's library does not know. */
function helpers(): unknown[] {
  const { from } = Reflect.get(globalThis, 'Iterator') as { from(of: object): object };
  const wrapped = from({ next: () => ({ done: true }) });
  const map = Reflect.get(wrapped, 'map') as (act: () => void) => object;
  return [wrapped, map.call(wrapped, () => {})];
}

/** Errors of `import()` come from this realm. Through them a program finds its objects, but cannot change them. */
export function freezeIntrinsics(): void {
  const found = new Set<unknown>();
  const waiting: unknown[] = [...LANGUAGE.map(name => Reflect.get(globalThis, name)), ...samples()];
  while (waiting.length > 0) {
    const each = waiting.pop();
    if ((typeof each !== 'object' && typeof each !== 'function') || each === null || found.has(each))
      continue;
    found.add(each);
    for (const key of Reflect.ownKeys(each)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(each, key)!;
      waiting.push(value, get, set);
    }
    waiting.push(Object.getPrototypeOf(each));
  }
  for (const each of found) Object.freeze(each);
}
