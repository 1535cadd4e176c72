/**
 * The process a program runs in. It talks to the host over its standard streams and ends when the host is done with it, or
 * gone. What keeps a program in is the sandbox around this process; see sandbox.ts.
 */

import { read, writeSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { constants, createContext, Script } from 'node:vm';
import { createFrameReader, MAX_FRAME_BYTES } from '../frames.ts';
import { type HostMessage, MAX_CALL_BYTES, MAX_CALLS } from '../messages.ts';
import type { Outside, Realm } from './realm.ts';

/** On the first line of the program, so that its lines keep their numbers. */
const BEFORE = '(async () => {';
const AFTER = '\n})';
const FILE = 'program.ts';

/** Whether it may hold what is also JavaScript, but with another meaning: `f<T>(x)`. */
const MAY_BE_GENERIC = /(?<!=)>\s*[(`]/;

/** A program as a function to call. What is plain JavaScript is taken as it is: removing types takes longer than starting. */
function compileProgram(program: string): { script: Script } | { error: string } {
  if (!MAY_BE_GENERIC.test(program)) {
    const plain = compile(program);
    if (!(plain instanceof Error)) return { script: plain };
  }
  try {
    const text = stripTypeScriptTypes(`${BEFORE}${program}${AFTER}`).slice(BEFORE.length, -AFTER.length);
    const script = compile(text);
    return script instanceof Error ? { error: beginning(script) } : { script };
  } catch (thrown) {
    return { error: unstrippable(thrown, program) };
  }
}

/** Node loads what removes types when it is first used. */
const loadStripper = (): void => void stripTypeScriptTypes('let loaded: true;');

function compile(text: string): Script | Error {
  try {
    return new Script(`${BEFORE}${text}${AFTER}`, { filename: FILE, columnOffset: -BEFORE.length });
  } catch (thrown) {
    return thrown as Error;
  }
}

/** Place, line and message, as V8 puts them before its stack. */
const beginning = ({ stack = '' }: Error): string => stack.split(/\n\s+at /)[0]!.trim();

/** The line stands before its stack, too. */
function unstrippable(thrown: unknown, program: string): string {
  const { code, message, stack = '' } = thrown as NodeJS.ErrnoException;
  if (code === 'ERR_INTERNAL_ASSERTION') return 'SyntaxError: The program is nested too deeply to be read.';
  const lines = program.split('\n');
  // The end of the program is a line of ours.
  const line = Math.min(Number(/^\S*:(\d+)\n/.exec(stack)?.[1] ?? 0), lines.length);
  const place = line > 0 ? `${FILE}:${line}\n${lines[line - 1]!.slice(0, 200)}\n\n` : '';
  const advice = code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' ? ADVICE : '';
  return `${place}SyntaxError: ${message}${advice}`;
}

const ADVICE = '\nTypes are removed and nothing else is changed: write it as JavaScript has it.';

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
function freezeIntrinsics(): void {
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

/** The realm's script as text, put here by the build. */
declare const REALM_SOURCE: string;

const STDIN = 0;
const STDOUT = 1;
const timers = new Map<number, NodeJS.Timeout>();
let realm: Realm | null = null;

/** Waits until the host has taken it: a program that says much is slowed down, not stored. */
function send(json: unknown): void {
  // Of a program that changed what JSON is.
  if (typeof json !== 'string') return;
  const body = Buffer.from(json, 'utf8');
  const header = Buffer.allocUnsafe(4);
  header.writeUInt32LE(body.length);
  try {
    for (const part of [header, body])
      for (let at = 0; at < part.length; ) at += writeSync(STDOUT, part, at, part.length - at);
  } catch {
    process.exit(1);
  }
}

/** Ahead of the program, while nobody waits. */
function prepare(): void {
  loadStripper();
  send('{"type":"prepared"}');
}

function start({ program, tools, mostChars }: HostMessage & { type: 'run' }): void {
  send('{"type":"begun"}');
  // Before anything of the program runs: this may load what removes types.
  const compiled = compileProgram(program);
  if ('error' in compiled) {
    send(JSON.stringify({ type: 'failed', error: compiled.error }));
    return;
  }
  const context = createContext(constants.DONT_CONTEXTIFY, {
    codeGeneration: { strings: false, wasm: false },
  });
  const outside: Outside = {
    send,
    setTimer: (id, ms) => void timers.set(id, setTimeout(fire, ms, id)),
    clearTimer: id => clearTimeout(timers.get(id)),
    tools,
    // As JSON a character is six bytes at most; the rest is for all else in that message.
    mostChars: Math.min(mostChars, Math.floor(MAX_FRAME_BYTES / 8)),
    // In UTF-8 a character of JavaScript is three bytes at most.
    mostArgumentChars: Math.floor((MAX_FRAME_BYTES - 4096) / 3),
    mostCalls: MAX_CALLS,
    mostCallChars: Math.floor(MAX_CALL_BYTES / 3),
  };
  const { createRealm } = new Script(REALM_SOURCE).runInContext(context);
  realm = createRealm(outside) as Realm;
  freezeIntrinsics();
  void realm.start(compiled.script.runInContext(context));
}

function take(body: Buffer): void {
  const message = JSON.parse(body.toString('utf8')) as HostMessage;
  if (message.type === 'prepare') prepare();
  else if (message.type === 'run') start(message);
  else if (message.type === 'result') realm?.settle(message.id, true, message.json);
  else realm?.settle(message.id, false, message.message);
  setImmediate(lookForEnd);
}

function fire(id: number): void {
  timers.delete(id);
  realm?.fire(id);
  setImmediate(lookForEnd);
}

/** Microtasks are done by now, and Node has told which promises nobody caught. */
function lookForEnd(): void {
  realm?.look();
}

process.on('unhandledRejection', (reason, promise) => realm?.rejected(promise, reason));
process.on('rejectionHandled', promise => realm?.handled(promise));
// Thrown by the realm's own code: the program has changed what that stands on.
process.on('uncaughtException', () =>
  send('{"type":"failed","error":"The program broke the objects it runs on."}'),
);

const chunk = Buffer.allocUnsafeSlow(64 * 1024);
const frames = createFrameReader(take);

function readOn(): void {
  read(STDIN, chunk, 0, chunk.length, null, (error, bytes) => {
    if (error || bytes === 0) process.exit(0);
    // The next reading goes into the same place.
    frames.push(Buffer.from(chunk.subarray(0, bytes)));
    readOn();
  });
}
readOn();
