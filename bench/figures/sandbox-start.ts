import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRooms } from '../../src/process/sandbox/rooms.ts';
import { createSandboxes } from '../../src/process/sandbox/sandboxes.ts';
import { descendantsOf } from '../../src/process/table/descendants.ts';
import { ownProcesses } from '../../src/process/table/socket-holder.ts';
import type { TurnStart } from '../../src/process/turns/spawn-wrapper.ts';
import { createSupervisor } from '../../src/process/turns/supervisor.ts';
import { Fifo, makeFifo, release } from '../fifo.ts';
import { type Figure, paired, single } from '../figure.ts';
import { interleave, median, type Pair, repeat } from '../measure.ts';
import { memoryOf } from '../process-memory.ts';
import { untilBegun } from '../start-pair.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const MAX_ADDED_MS = 60;
const MAX_MB = 20;
const PAIRS = 20;
const NETWORKS = { workspace: 'full', room: 'none' } as const;

/** Time from the start of a turn in the supervisor to the agent's first instruction, with and without a sandbox. */
export const sandboxStart: Figure = {
  name: 'sandbox-start',
  title: "From the start of a turn to the agent's first instruction, in a sandbox",
  async measure() {
    const root = temporaryFolder();
    const runsDir = join(root, 'runs');
    const folder = join(root, 'folder');
    mkdirSync(folder, { recursive: true });
    const fifo = new Fifo(join(folder, 'started'));
    makeFifo(join(folder, 'wait'));
    const rooms = createRooms({
      socket: join(root, 'proxy.sock'),
      program: join(import.meta.dirname, '..', '..', 'dist', 'sandbox-proxy.cjs'),
      hubPort: async () => null,
      warn: message => console.error(message),
    });
    const sandboxes = createSandboxes({ path: process.env.PATH ?? '', rooms });
    const supervisor = createSupervisor({ runsDir, sandboxes });
    let count = 0;

    function turn(sandbox: keyof typeof NETWORKS | null, script: string): TurnStart {
      const runId = `run_${count++}`;
      const own = join(runsDir, runId, 'turn-1');
      mkdirSync(own, { recursive: true });
      return {
        ...{ runId, number: 1, cwd: folder, hardLimitMs: 60_000 },
        command: { argv: ['/bin/sh', '-c', script], stdin: null, env: { PATH: process.env.PATH ?? '' } },
        sandbox: sandbox && {
          ...{ home: folder, network: NETWORKS[sandbox], hosts: [] },
          mounts: [
            { path: folder, from: folder, access: 'write' },
            { path: own, from: own, access: 'read' },
          ],
        },
      };
    }

    const begin = (sandbox: keyof typeof NETWORKS | null) =>
      untilBegun(fifo, async () => {
        const live = await supervisor.start(turn(sandbox, 'echo >started'), { keepLeftovers: false });
        await live.ended;
      });
    const pairOf = (sandbox: keyof typeof NETWORKS): Promise<Pair> =>
      interleave(
        async () => {
          // Waits for the next room, which is created in the background. Otherwise the figure would depend on how fast
          // starts follow each other.
          await supervisor.sandboxProblem(NETWORKS[sandbox]);
          return begin(sandbox);
        },
        () => begin(null),
        { pairs: PAIRS, warmUps: 3 },
      );
    /** Memory of all processes between the wrapper and the agent. */
    const memory = (sandbox: keyof typeof NETWORKS) => async () => {
      const waiting = turn(sandbox, 'echo >started; read line <wait');
      const live = await supervisor.start(waiting, { keepLeftovers: false });
      await fifo.take();
      const [outer] = descendantsOf(live.pid).filter(pid => descendantsOf(pid).length === 2);
      const [init] = descendantsOf(outer!);
      const used = memoryOf(outer!).now + memoryOf(init!).now;
      release(join(folder, 'wait'));
      await live.ended;
      return used;
    };

    const workspace = await pairOf('workspace');
    const room = await pairOf('room');
    const perRun = median(await repeat(5, memory('room')));
    const proxy = memoryOf(proxyPid(join(root, 'proxy.sock'))).now;
    rooms.close();
    fifo.close();
    rmSync(root, { recursive: true });
    const isMet = ({ over }: { over?: number }) => over! <= MAX_ADDED_MS;
    const target = `≤ ${MAX_ADDED_MS} ms over`;
    return [
      paired('network: full, against no sandbox', 'ms', workspace, { target, isMet }),
      paired('in a room, against no sandbox', 'ms', room, { target, isMet }),
      single('memory of each run', 'MB', perRun, {
        target: `≤ ${MAX_MB} MB`,
        isMet: ({ value }) => value <= MAX_MB,
        note: 'resident, both processes of bubblewrap',
      }),
      single('memory of the proxy process', 'MB', proxy, { note: 'resident, once for all runs of a home' }),
    ];
  },
};

/** Finds the proxy process by its command line. */
function proxyPid(socket: string): number {
  const isIt = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(socket);
    } catch {
      return false; // the process has just ended
    }
  };
  return ownProcesses().find(isIt)!;
}
