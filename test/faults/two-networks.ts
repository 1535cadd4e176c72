import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { until } from './patience.ts';

const HERE = '10.77.0.1';
const THERE = '10.77.0.2';

/**
 * Two network namespaces with a cable between them, apart from the network of this machine: one for the hub, one for a
 * box. Unlike connections through a program, nothing closes or answers for the other side while the cable is cut.
 */
export class TwoNetworks {
  readonly host = THERE;
  private readonly holders: [ChildProcess, ChildProcess];

  private constructor(holders: [ChildProcess, ChildProcess]) {
    this.holders = holders;
  }

  /** Null where this process may not make network namespaces. */
  static async open(): Promise<TwoNetworks | null> {
    if (spawnSync('unshare', ['-n', 'ip', 'link', 'add', 'cable', 'type', 'veth']).status !== 0) return null;
    const hold = () => spawn('unshare', ['-n', 'sleep', 'infinity'], { stdio: 'ignore' });
    const networks = new TwoNetworks([hold(), hold()]);
    const own = readlinkSync('/proc/self/ns/net');
    const [near, far] = networks.holders.map(({ pid }) => pid!) as [number, number];
    await until('two network namespaces', () =>
      [near, far].every(pid => readlinkSync(`/proc/${pid}/ns/net`) !== own),
    );
    networks.ip(...'link add cable type veth peer name cable netns'.split(' '), String(far));
    for (const [at, address] of [
      [near, HERE],
      [far, THERE],
    ] as const) {
      ipAt(at, 'link', 'set', 'lo', 'up');
      ipAt(at, 'addr', 'add', `${address}/24`, 'dev', 'cable');
      ipAt(at, 'link', 'set', 'cable', 'up');
    }
    return networks;
  }

  /** Commands that run a program in one of the namespaces. */
  get hub(): string[] {
    return within(this.holders[0]);
  }
  get box(): string[] {
    return within(this.holders[1]);
  }

  /** Nothing arrives, on either side. */
  unplug(): void {
    this.ip('link', 'set', 'cable', 'down');
  }
  plug(): void {
    this.ip('link', 'set', 'cable', 'up');
  }

  /** What either side sends disappears, and nothing answers in the other's place. */
  swallow(): void {
    ipAt(this.holders[1].pid!, 'route', 'add', 'blackhole', `${HERE}/32`);
    this.ip('route', 'add', 'blackhole', `${THERE}/32`);
  }
  deliver(): void {
    ipAt(this.holders[1].pid!, 'route', 'del', 'blackhole', `${HERE}/32`);
    this.ip('route', 'del', 'blackhole', `${THERE}/32`);
  }

  close(): void {
    for (const holder of this.holders) holder.kill('SIGKILL');
  }

  private ip(...args: string[]): void {
    ipAt(this.holders[0].pid!, ...args);
  }
}

const within = ({ pid }: ChildProcess): string[] => ['nsenter', `--net=/proc/${pid}/ns/net`];

function ipAt(pid: number, ...args: string[]): void {
  const { status, stderr } = spawnSync('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}
