/**
 * The process a program runs in. It talks to the host over its standard streams and ends when the host is done with it, or
 * gone. What keeps a program in is the sandbox around this process; see sandbox.ts.
 */
import { read, writeSync } from 'node:fs';
import { constants, createContext, Script } from 'node:vm';
import { createFrameReader, MOST_FRAME_BYTES } from '../frames.ts';
import { type HostMessage, MOST_CALL_BYTES, MOST_CALLS } from '../messages.ts';
import { compileProgram, loadStripper } from './compile-program.ts';
import { freezeIntrinsics } from './freeze-intrinsics.ts';
import type { Outside, Realm } from './realm.ts';

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
    mostChars: Math.min(mostChars, Math.floor(MOST_FRAME_BYTES / 8)),
    // In UTF-8 a character of JavaScript is three bytes at most.
    mostArgumentChars: Math.floor((MOST_FRAME_BYTES - 4096) / 3),
    mostCalls: MOST_CALLS,
    mostCallChars: Math.floor(MOST_CALL_BYTES / 3),
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
