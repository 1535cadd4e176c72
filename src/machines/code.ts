import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { formatBytes } from '../base/text.ts';
import type { CodeTravel } from '../core/ports/worktrees.ts';
import { isErrorCode, SquadError } from '../schema/error.ts';
import type { Run } from '../schema/run.ts';
import type { Worktree } from '../schema/worktree.ts';
import type { Link } from './link.ts';

export interface RemoteCodePorts {
  link(machine: string): Link;
  travel: CodeTravel;
  /** Whether another run is running in this work tree. Its agent must not lose its files. */
  isInUse(run: Run, worktree: Worktree): boolean;
}

const PAGE = 256 * 1024;
/** Number of pages of a bundle that are sent in parallel. */
const WINDOW = 8;
const SETUP_TIMEOUT_MS = 600_000;
/** Maximum size of a bundle. No real work tree is as large, and git would have to unpack it. */
const MAX_BUNDLE = 2 * 1024 ** 3;

/** Sends the work trees of runs to other machines, and takes them back. */
export class RemoteCode {
  private readonly ports: RemoteCodePorts;
  private readonly queue = new KeyedQueue<string>();

  constructor(ports: RemoteCodePorts) {
    this.ports = ports;
  }

  /** Sends the work tree of a run to its machine. Returns a note for readers of the run's result, or null. */
  send(run: Run, worktree: Worktree, signal: AbortSignal): Promise<string | null> {
    return this.queue.run(worktree.path, async () => {
      // Another run uses the work tree, so the files on the machine are newer than the hub's.
      if (this.ports.isInUse(run, worktree)) return null;
      const { travel } = this.ports;
      const link = this.ports.link(run.options.machine!);
      const names = travel.names(worktree);
      const { commits } = (
        await link.ask('haves', { repo: names.repo }, { signal }).catch(thrown => {
          throw fromThere(run, thrown);
        })
      ).answer;
      const have = await travel.have(worktree);
      const { tip, work, author, bundle, done } = await travel.pack(worktree, commits);
      try {
        const name = `${names.worktree}.in`;
        if (bundle !== null) await upload(link, bundle, name, signal);
        const { setup, setupTimeoutMs = SETUP_TIMEOUT_MS } = run.options.setup ?? {};
        const { branch } = worktree;
        const { kept } = (
          await link.ask(
            'checkout',
            {
              ...{ ...names, branch, tip, work, have, author, bundle: bundle === null ? null : name },
              setup: setup ? { argv: setup, timeoutMs: setupTimeoutMs } : null,
            },
            { signal },
          )
        ).answer;
        return (
          kept &&
          `Work that never came here was in the work tree on ${run.options.machine}. It is kept there in ${kept}.`
        );
      } catch (thrown) {
        throw fromThere(run, thrown);
      } finally {
        await done();
      }
    });
  }

  /** Brings the work tree here up to date. Returns a note for readers of the result. */
  take(run: Run, worktree: Worktree): Promise<string | null> {
    return this.queue.run(worktree.path, async () => {
      const { travel } = this.ports;
      const link = this.ports.link(run.options.machine!);
      const { worktree: name, ref } = travel.names(worktree);
      const folder = await mkdtemp(join(tmpdir(), 'squad-bundle-'));
      try {
        const have = await travel.have(worktree);
        const { tip, work, bundle, size } = (await link.ask('collect', { worktree: name, ref, have })).answer;
        if (size > MAX_BUNDLE) throw tooLarge(run, size);
        const file = bundle === null ? null : await download(link, bundle, size, join(folder, 'bundle'));
        return await travel.unpack(worktree, { tip, work, bundle: file });
      } catch (thrown) {
        throw fromThere(run, thrown);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
}

async function upload(link: Link, file: string, name: string, signal: AbortSignal): Promise<void> {
  const source = await open(file);
  try {
    const { size } = await source.stat();
    // Sends one page of the bundle. The first page is sent before the others, because it creates the file.
    const send = async (at: number) => {
      const body = Buffer.alloc(Math.min(PAGE, size - at));
      await source.read(body, 0, body.length, at);
      await link.ask('put', { name, at }, { body, signal });
    };
    await send(0);
    for (let at = PAGE; at < size; at += PAGE * WINDOW)
      await Promise.all(
        Array.from({ length: WINDOW }, (_, page) => at + page * PAGE)
          .filter(each => each < size)
          .map(send),
      );
  } finally {
    await source.close();
  }
}

async function download(link: Link, path: string, size: number, file: string): Promise<string> {
  const target = createWriteStream(file, { mode: 0o600 });
  for (let from = 0; from < size; ) {
    const { body } = await link.ask('get', { path, from, max: PAGE }, { maxBody: PAGE });
    if (body.length === 0) throw new SquadError('GIT_FAILED', 'The bundle from the other machine is cut off');
    if (!target.write(body)) await once(target, 'drain');
    from += body.length;
  }
  target.end();
  await once(target, 'close');
  return file;
}

const tooLarge = ({ id, options }: Run, size: number): SquadError =>
  new SquadError(
    'GIT_FAILED',
    `The work of ${id} on ${options.machine} is ${formatBytes(size)}; Squad fetches at most ${formatBytes(MAX_BUNDLE)}`,
    { suggestions: ['The work is still in the work tree on that machine, below ~/.squad-runner.'] },
  );

function fromThere({ options }: Run, thrown: unknown): unknown {
  const { code, message } = thrown as NodeJS.ErrnoException;
  if (thrown instanceof SquadError || !(thrown instanceof Error) || thrown.name === 'AbortError')
    return thrown;
  return new SquadError(isErrorCode(code) ? code : 'GIT_FAILED', `On ${options.machine}: ${message}`, {
    cause: thrown,
  });
}
