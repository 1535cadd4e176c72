import { planMembers, type SquadPlan } from './members.ts';
import { createRandom, type Random, roundSeed } from './random.ts';

export const PHASES = ['submit', 'start', 'work', 'end'] as const;
export type Phase = (typeof PHASES)[number];

/** Everything a round leaves to chance, decided before it begins. */
export interface RoundPlan {
  seed: number;
  round: number;
  squads: SquadPlan[];
  /** The first squad is asked for by an MCP client that waits, or on the hub's socket. */
  face: 'mcp' | 'socket';
  secondSquadAfterMs: number;
  phase: Phase;
  /** From the first request to `kill -9`. */
  killAfterMs: number;
  /** The cancel is sent this long before. */
  cancelBeforeMs: number;
  /** Cancels that nobody answered are asked for again after the restart. */
  cancelsAgain: boolean;
  /** Each is one more `kill -9`, this long after the next hub was started. */
  killAgainAfterMs: number[];
  /** What happens to the box and to the way there. Empty in rounds on one machine. */
  boxFaults: BoxFault[];
  /** The hub is killed in every round, but not in each of those on a box. */
  killsHub: boolean;
  /** The command that happens to bring the next hub up. */
  starter: string[];
}

/** Kinds that need network namespaces are last. */
export const BOX_FAULTS = ['runner', 'sessions', 'sshd', 'reset', 'silence', 'unplug', 'swallow'] as const;

export interface BoxFault {
  kind: (typeof BOX_FAULTS)[number];
  /** After the first request. */
  afterMs: number;
  /** For how long sshd or the network is away. */
  forMs: number;
}

/** Where a round takes place: null for this machine. */
export type BoxKind = { canUnplug: boolean } | null;

const STARTERS = [
  ['hub', 'start'],
  ['ls', '--all'],
  ['config', 'show'],
  ['roles', '--json'],
];

export function planRound(seed: number, round: number, side: string, box: BoxKind = null): RoundPlan {
  const random = createRandom(roundSeed(seed, round));
  const phase = phaseOf(random.between(1, 100));
  return {
    seed,
    round,
    squads: planMembers(random.between(0, 2 ** 31), round, side, box !== null),
    // An MCP client would start the next hub in the network of the test.
    face: random.pick(box?.canUnplug ? ['socket'] : ['mcp', 'socket']),
    secondSquadAfterMs: random.between(0, 40),
    phase,
    killAfterMs: momentIn(phase, random),
    cancelBeforeMs: random.between(0, 40),
    cancelsAgain: random.chance(0.5),
    killAgainAfterMs: Array.from({ length: random.pick([0, 0, 0, 1, 1, 2]) }, () => random.between(0, 600)),
    starter: random.pick(STARTERS),
    ...(box ? planBox(random, box.canUnplug) : { boxFaults: [], killsHub: true }),
  };
}

function planBox(random: Random, canUnplug: boolean): Pick<RoundPlan, 'boxFaults' | 'killsHub'> {
  // With a real cable there is no program between hub and box that could reset connections or be silent.
  const kinds = BOX_FAULTS.filter(
    kind => !(canUnplug ? ['reset', 'silence'] : ['unplug', 'swallow']).includes(kind),
  );
  const count = random.between(1, 3);
  const boxFaults = Array.from({ length: count }, () => ({
    kind: random.pick(kinds),
    afterMs: random.between(0, 3_000),
    forMs: random.between(100, 2_500),
  })).sort((one, other) => one.afterMs - other.afterMs);
  return { boxFaults, killsHub: random.chance(0.5) };
}

function phaseOf(percent: number): Phase {
  if (percent <= 20) return 'submit';
  if (percent <= 50) return 'start';
  return percent <= 85 ? 'work' : 'end';
}

function momentIn(phase: Phase, random: Random): number {
  switch (phase) {
    case 'submit':
      return random.between(0, 150);
    case 'start':
      return random.between(100, 600);
    case 'work':
      return random.between(600, 2200);
    case 'end':
      return random.between(2200, 4000);
  }
}
