/**
 * The process that a program runs in. It talks to the host over its standard streams and ends when the host closes them. The
 * sandbox around this process isolates the program; see sandbox.ts.
 */

import { read, writeSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { constants, createContext, Script } from 'node:vm';
import {
  createFrameReader,
  type HostMessage,
  MAX_CALL_BYTES,
  MAX_CALLS,
  MAX_FRAME_BYTES,
} from '../messages.ts';
import type { Outside, Realm } from './realm.ts';

/** Code before the program. It contains no line end, so that the line numbers of the program stay the same. */
const BEFORE = '(async () => {';
const AFTER = '\n})';
const FILE = 'program.ts';

/** Matches `f<T>(x)`, which is also valid JavaScript but means something else. */
const MAY_BE_GENERIC = /(?<!=)>\s*[(`]/;

/** Compiles a program to a function. Plain JavaScript is compiled directly: stripping types takes longer than starting. */
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
    return { error: stripErrorText(thrown, program) };
  }
}

/** Node loads its type stripper on first use. */
const loadStripper = (): void => void stripTypeScriptTypes('let loaded: true;');

function compile(text: string): Script | Error {
  try {
    return new Script(`${BEFORE}${text}${AFTER}`, { filename: FILE, columnOffset: -BEFORE.length });
  } catch (thrown) {
    return thrown as Error;
  }
}

/** Location, source line and message, which V8 puts before the stack. */
const beginning = ({ stack = '' }: Error): string => stack.split(/\n\s+at /)[0]!.trim();

/** Text of a type-stripper error, whose stack also starts with the line number. */
function stripErrorText(thrown: unknown, program: string): string {
  const { code, message, stack = '' } = thrown as NodeJS.ErrnoException;
  if (code === 'ERR_INTERNAL_ASSERTION') return 'SyntaxError: The program is nested too deeply.';
  const lines = program.split('\n');
  // V8 reports an error at the end of the program for the line after it, which is Squad's own code.
  const line = Math.min(Number(/^\S*:(\d+)\n/.exec(stack)?.[1] ?? 0), lines.length);
  const place = line > 0 ? `${FILE}:${line}\n${lines[line - 1]!.slice(0, 200)}\n\n` : '';
  const advice = code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' ? ADVICE : '';
  return `${place}SyntaxError: ${message}${advice}`;
}

const ADVICE = '\nOnly types are removed from the program. Write everything else as JavaScript.';

/** Globals of the language. Node's own globals are left out, because many are loaded on first use. */
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

/** Values whose prototypes cannot be reached by a global name. */
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

/** Iterator helpers, which are missing in the compiler's library. */
function helpers(): unknown[] {
  const { from } = Reflect.get(globalThis, 'Iterator') as { from(of: object): object };
  const wrapped = from({ next: () => ({ done: true }) });
  const map = Reflect.get(wrapped, 'map') as (act: () => void) => object;
  return [wrapped, map.call(wrapped, () => {})];
}

/** Freezes objects of this realm. A program can reach them through errors of `import()`, and must not change them. */
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

/** The realm's script as text, inserted by the build. */
declare const REALM_SOURCE: string;

const STDIN = 0;
const STDOUT = 1;
const timers = new Map<number, NodeJS.Timeout>();
let realm: Realm | null = null;

/** Sends a message and blocks until the host has read it, so that a program with much output is slowed down. */
function send(json: unknown): void {
  // Sends only strings, because a program may have replaced JSON.stringify.
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

function prepare(): void {
  loadStripper();
  send('{"type":"prepared"}');
}

function start({ program, tools, maxChars }: HostMessage & { type: 'run' }): void {
  send('{"type":"begun"}');
  // The program is compiled before its realm is created, because compiling may load the type stripper.
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
    // A character needs at most six bytes as JSON. The rest is for the other fields of the message.
    maxChars: Math.min(maxChars, Math.floor(MAX_FRAME_BYTES / 8)),
    // A UTF-16 unit needs at most three bytes in UTF-8.
    maxArgumentChars: Math.floor((MAX_FRAME_BYTES - 4096) / 3),
    maxCalls: MAX_CALLS,
    maxCallChars: Math.floor(MAX_CALL_BYTES / 3),
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
  setImmediate(reportEnd);
}

function fire(id: number): void {
  timers.delete(id);
  realm?.fire(id);
  setImmediate(reportEnd);
}

/** Called after the microtasks, when Node has reported unhandled rejections. */
function reportEnd(): void {
  realm?.reportEnd();
}

process.on('unhandledRejection', (reason, promise) => realm?.rejected(promise, reason));
process.on('rejectionHandled', promise => realm?.handled(promise));
// The exception comes from the realm's own code, so the program has changed objects that this code uses.
process.on('uncaughtException', () =>
  send('{"type":"failed","error":"The program changed built-in objects that it needs to run."}'),
);

const chunk = Buffer.allocUnsafeSlow(64 * 1024);
const readFrames = createFrameReader(take);

function readNext(): void {
  read(STDIN, chunk, 0, chunk.length, null, (error, bytes) => {
    if (error || bytes === 0) process.exit(0);
    // The bytes are copied, because the next read reuses `chunk`.
    readFrames(Buffer.from(chunk.subarray(0, bytes)));
    readNext();
  });
}
readNext();
