/**
 * Runs `squad` commands one after the other in one process, because most of what a command costs is the start of Node. Each
 * is the built program, evaluated again, with its own arguments, environment, folder and streams; it has ended when nothing
 * is left to wait for, as a process has. A command that ends its process ends this one.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { constants, Script } from 'node:vm';
import type { Hosted, HostReply } from './run-hosted.ts';

const [bin, program] = process.argv.slice(2) as [string, string];
const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(program, 'utf8')}\n})`;
const evaluate = new Script(source, {
  filename: program,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
}).runInThisContext() as (...given: unknown[]) => void;
const require = createRequire(program);
const exit = process.exit;

process.on('disconnect', () => exit(0));
process.on('message', ({ args, env, cwd, umask, input }: Hosted) => {
  try {
    process.chdir(cwd);
  } catch {
    return answer({ refused: true });
  }
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.umask(umask);
  process.argv = [process.execPath, bin, ...args];
  const [stdout, stderr] = [new Collected(), new Collected()];
  const stdin = new Readable({ read() {} });
  stdin.push(input);
  stdin.push(null);
  for (const [name, value] of Object.entries({ stdout, stderr, stdin }))
    Object.defineProperty(process, name, { configurable: true, value });
  const ranWith = (code: string | number | null = process.exitCode ?? 0) => ({
    ran: { code: Number(code), stdout: stdout.text(), stderr: stderr.text() },
  });
  process.exit = code => {
    process.on('uncaughtException', () => {});
    answer({ ...ranWith(code), isLast: true }, () => exit(0));
    throw new Error('Nothing may happen after the end of a process');
  };
  const removeListeners = listenersFromNowOn();
  process.once('beforeExit', () => {
    removeListeners();
    answer(ranWith());
    process.exitCode = undefined;
    process.chdir('/');
    process.channel!.ref();
  });
  // Only what the command itself waits for may keep it going.
  process.channel!.unref();
  const module = { exports: {} };
  evaluate.call(module.exports, module.exports, require, module, program, dirname(program));
});

const answer = (reply: HostReply, then = () => {}): void => void process.send!(reply, then);

/** Returns what removes the listeners that a command adds to its process. */
function listenersFromNowOn(): () => void {
  const known = new Set(allListeners().map(([, listener]) => listener));
  return () => {
    for (const [name, listener] of allListeners()) if (!known.has(listener)) process.off(name, listener);
  };
}

const allListeners = () =>
  process.eventNames().flatMap(name => process.listeners(name as 'exit').map(each => [name, each] as const));

class Collected extends Writable {
  private readonly chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(chunk);
    done();
  }

  text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }
}
