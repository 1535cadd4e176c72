import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { cpus, platform } from 'node:os';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type FrameHead, FrameReader, frame } from '../base/frames.ts';
import { writeBelow } from '../process/output/own-folder.ts';
import { findExecutable } from '../process/programs/find-executable.ts';
import { runProgram } from '../process/programs/run-program.ts';
import { bootSeconds } from '../process/turns/turn-record.ts';
import { BoxCode } from './code.ts';
import { DoorLink } from './door.ts';
import { type Hello, type OpName, type Ops, PROTOCOL, type Probe } from './protocol.ts';
import { BoxTurns, namesIn, readAt } from './turns.ts';

export interface RunnerOptions {
  /** Folder of the runner, with a folder for each hub. */
  home: string;
  /** Id of the hub, which has its own folder. */
  hub: string;
  input: Readable;
  output: Writable;
  env: Record<string, string>;
  /** Called when this runner has nothing more to do. */
  exit(): void;
}

/**
 * Time without a message after which the runner ends. The hub sends pings, so a longer silence means that the link
 * broke without notice.
 */
const SILENCE_MS = 60_000;
const VERSION_TIMEOUT_MS = 8_000;

type Handlers = {
  [N in OpName]: (
    ask: Ops[N]['ask'],
    body: Buffer,
  ) => Promise<Ops[N]['answer'] | { answer: Ops[N]['answer']; body?: Buffer }>;
};

/** Serves one hub over one link. Keeps no state: the next runner finds everything in files and processes. */
export function serveRunner({ home, hub, input, output, env, exit }: RunnerOptions): void {
  const base = join(home, 'hubs', hub);
  mkdirSync(join(base, 'transfer'), { recursive: true, mode: 0o700 });
  const isNewest = takeOver(base);
  const turns = new BoxTurns(base, env);
  const code = new BoxCode(base, env);
  const handlers: Handlers = {
    ping: async ({ leases = [] }) => {
      turns.extend(leases);
      return { now: Date.now(), boot: bootSeconds() };
    },
    probe: ask => probe(ask, env, base),
    start: ask => turns.start(ask),
    find: ask => turns.find(ask),
    read: ask => turns.read(ask),
    stop: ask => turns.stop(ask),
    stats: ask => turns.stats(ask),
    wrote: async ask => turns.wrote(ask),
    get: async ({ path, from, max }) => {
      const file = below(base, path);
      const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      return { answer: { size }, body: readAt(file, from, max) };
    },
    put: async ({ name, at }, body) => {
      const file = await open(below(base, join('transfer', basename(name))), at === 0 ? 'w' : 'r+');
      try {
        await file.write(body, 0, body.length, at);
      } finally {
        await file.close();
      }
      return {};
    },
    door: async () => ({ port: await door.open() }),
    haves: ask => code.haves(ask),
    checkout: ask => code.checkout(ask),
    collect: ask => code.collect(ask),
    keep: async ({ runs, worktrees }) => {
      // The work trees are renamed at once, because later requests of this connection may create work trees with the
      // same names.
      const aside = join(base, 'removed', randomBytes(4).toString('hex'));
      for (const name of namesIn(join(base, 'worktrees'))) {
        if (worktrees.includes(name)) continue;
        mkdirSync(aside, { recursive: true, mode: 0o700 });
        renameSync(join(base, 'worktrees', name), join(aside, name));
      }
      await turns.removeOthers(runs);
      rmSync(join(base, 'removed'), { recursive: true, force: true });
      return {};
    },
  };

  async function answer(head: FrameHead, body: Buffer): Promise<void> {
    const { id, op, ...ask } = head as { id: number; op: OpName };
    try {
      // After a newer link was opened, the hub has sent this request again there.
      if (!isNewest()) return exit();
      const handler = handlers[op] as (ask: unknown, body: Buffer) => Promise<object>;
      const given = (await handler(ask, body)) as { answer?: object; body?: Buffer };
      const isWithBody = 'answer' in given;
      output.write(frame({ id, ok: isWithBody ? given.answer : given }, isWithBody ? given.body : undefined));
    } catch (thrown) {
      const { code = 'INTERNAL', message } = thrown as NodeJS.ErrnoException;
      output.write(frame({ id, error: { code, message } }));
    }
  }

  let silence = setTimeout(exit, SILENCE_MS);
  const take = (head: FrameHead, body: Buffer) =>
    head.t === undefined ? void answer(head, body) : door.send(head, body);
  const reader = new FrameReader(take, {
    maxLine: 64 * 1024 * 1024,
    maxBody: 4 * 1024 * 1024,
  });
  input.on('data', (chunk: Buffer) => {
    clearTimeout(silence);
    silence = setTimeout(exit, SILENCE_MS);
    try {
      reader.push(chunk);
    } catch {
      exit();
    }
  });
  input.on('end', exit);
  output.on('error', exit);
  const hello: Hello = {
    squad: 'runner',
    protocol: PROTOCOL,
    machine: machineId(home),
    ...{ base, node: process.execPath, programs: dirname(process.argv[1]!), os: platform() },
    cpus: cpus().length,
    now: Date.now(),
    boot: bootSeconds(),
  };
  output.write(frame(hello));
  // The runner connects to the door after the handshake was sent, because waiting requests of agents must follow the
  // handshake.
  const door = new DoorLink(base, (head, body) => void output.write(frame(head, body)));
}

/** Records that this is the hub's newest link. Returns a function that tells whether it still is. */
function takeOver(base: string): () => boolean {
  const file = join(base, 'link');
  const own = randomBytes(8).toString('hex');
  writeFileSync(file, own, { mode: 0o600 });
  return () => {
    try {
      return readFileSync(file, 'utf8') === own;
    } catch {
      return true;
    }
  };
}

function machineId(home: string): string {
  const file = join(home, 'machine');
  try {
    writeFileSync(file, `m_${randomBytes(8).toString('hex')}`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8');
}

function below(base: string, path: string): string {
  const normal = normalize(path);
  if (isAbsolute(normal) || normal.startsWith('..'))
    throw new Error(`The path ${path} is not below the hub's folder`);
  return join(base, normal);
}

async function probe(
  { clis }: Ops['probe']['ask'],
  env: Record<string, string>,
  base: string,
): Promise<Probe> {
  // Reports a full or read-only disk now, before a run is started on this machine.
  writeBelow(base, 'probe', Buffer.alloc(64 * 1024));
  const located = clis.flatMap(({ cli, programs }) => {
    for (const name of programs) {
      const found = findExecutable(name, { path: env.PATH ?? '', cwd: '/' });
      if (found.status === 'found') return { cli, program: found.path };
    }
    return [];
  });
  const versionOf = async (argv: [string, ...string[]]) => {
    const { code, stdout } = await runProgram({
      ...{ argv, cwd: base, env: { ...env, CI: '1', NO_COLOR: '1' } },
      ...{ limitMs: VERSION_TIMEOUT_MS, maxBytes: 4096 },
    });
    return code === 0 ? (/\d+\.\d+(?:\.\d+)*/.exec(stdout.toString())?.[0] ?? null) : null;
  };
  const [git, ...found] = await Promise.all([
    versionOf(['git', '--version']),
    ...located.map(async each => ({ ...each, version: await versionOf([each.program, '--version']) })),
  ]);
  return { clis: found, git, node: process.version, diskFreeBytes: freeBytes(base), now: Date.now() };
}

function freeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
