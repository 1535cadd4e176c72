import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { TestBox } from '../support/box.ts';
import { FaultHome } from './fault-home.ts';
import type { Span } from './gather.ts';
import { BOX_ROLE_FILES } from './members.ts';
import { isAlive, kill } from './processes.ts';
import { CONCURRENCY } from './round.ts';
import type { BoxFault } from './round-plan.ts';
import type { TwoNetworks } from './two-networks.ts';

/** A home whose runs are all on a box. */
export interface BoxHome {
  home: FaultHome;
  box: TestBox;
  /** Null: hub and box are in one network, and a program carries their connections. */
  networks: TwoNetworks | null;
}

/** Time for the hub to notice a fault and to connect again, in which the box may be watched by nobody. */
const RECONNECT_MS = 10_000;

export async function openBoxHome(program: string, networks: TwoNetworks | null): Promise<BoxHome> {
  const home = new FaultHome(program, {}, BOX_ROLE_FILES);
  const box = new TestBox(home, 'box', networks ? { host: networks.host, around: networks.box } : {});
  try {
    if (networks) home.around = networks.hub;
    const git = (...args: string[]) => execFileSync('git', args, { cwd: home.workspace });
    git('init', '-q');
    for (const [key, value] of [
      ['user.name', 'Me'],
      ['user.email', 'me@example.com'],
    ] as const)
      git('config', key, value);
    git('commit', '-q', '--allow-empty', '-m', 'First');
    await box.start();
    // Without the program in between, so that it is the cable that is cut.
    if (networks) box.describe(box.address.port);
    const options = ['--ssh-config', box.sshConfig, '--slots', String(CONCURRENCY)];
    const { code, stderr } = await home.squad('machines', 'add', 'box', 'box', ...options);
    if (code !== 0) throw new Error(`squad machines add: ${stderr}`);
    return { home, box, networks };
  } catch (thrown) {
    await closeBoxHome({ home, box, networks });
    throw thrown;
  }
}

/** Returns what was left of agents once hub and box had gone. */
export async function closeBoxHome({ home, box }: BoxHome): Promise<string[]> {
  // Its agents end while it can be reached.
  for (const order of [
    ['cancel', '--all', '--everywhere'],
    ['hub', 'stop'],
  ])
    await home.squad(...order).catch(() => {});
  const doors = box.doors();
  await box.stop();
  box.network.close();
  for (const pid of doors) kill(pid, 'SIGKILL');
  return home.remove();
}

/** Does to a box what the plan says, each thing for as long as it says, and leaves it as it was. */
export async function playBoxFaults(home: BoxHome, faults: readonly BoxFault[]): Promise<Span[]> {
  const startedAt = Date.now();
  const spans: Span[] = [];
  for (const fault of faults) {
    await delay(Math.max(0, startedAt + fault.afterMs - Date.now()));
    const from = Date.now();
    await playFault(home, fault);
    spans.push({ from, to: Date.now() + RECONNECT_MS });
  }
  return spans;
}

async function playFault({ box, networks }: BoxHome, { kind, forMs }: BoxFault): Promise<void> {
  switch (kind) {
    case 'runner':
      return killAll(box.runners());
    case 'sessions':
      return killAll(box.sessions());
    case 'reset':
      return box.network.cut();
    case 'sshd':
      await box.stop();
      await delay(forMs);
      return box.restart();
    case 'silence':
      box.network.hold();
      await delay(forMs);
      return box.network.release();
    case 'unplug':
      networks!.unplug();
      await delay(forMs);
      return networks!.plug();
    case 'swallow':
      networks!.swallow();
      await delay(forMs);
      return networks!.deliver();
  }
}

function killAll(pids: number[]): void {
  for (const pid of pids.filter(isAlive)) kill(pid, 'SIGKILL');
}
