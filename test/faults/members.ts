import { type SandboxLevel, stronger } from '../../src/schema/sandbox.ts';
import { TEST_SANDBOX } from '../support/confine-by-default.ts';
import { createRandom, type Random } from './random.ts';
import { type Engine, ON_BOX, type Recipe, type Shape, STATEFUL, STATELESS } from './recipes.ts';

/** One agent to be started, and everything it would do if nobody came in between. */
export interface Member {
  /** Names its side file and begins its task. */
  tag: string;
  kind: string;
  engine: Engine;
  roleId: string;
  task: string;
  isStateful: boolean;
  sandbox: SandboxLevel;
  /** Somebody will ask for it to be cancelled. */
  isCancelled: boolean;
  /** Null: a limit it cannot reach. */
  timeoutMs: number | null;
  /** How it ends when it is left alone. */
  exitCode: number;
  /** Its output if nothing stops it. */
  stdout: Said;
  stderr: Said;
  /** Lines of the scripted engine's own flood. */
  floods: number;
  /** Its final answer, where the engine has one. */
  answer: string | null;
  /** It leaves a process in a session of its own. */
  leavesChild: boolean;
}

/** Numbered lines; or for the scripted engine, what its `text` events say. */
export type Said = string[];

/** Roles by timeout: a role file carries the limit. */
export const HASTY_MS = 900;
/** Enough to start a few processes, with twenty agents at once. */
export const BRIEF_MS = 8_000;
const ROLES = { template: 'plain', scripted: 'acted' } as const;
const HASTY_ROLES = { template: 'hasty', scripted: 'hasty-acted' } as const;

export const ROLE_FILES: Record<string, string> = {
  'plain.md': 'You follow the task.',
  'hasty.md': `---\ntimeout: ${HASTY_MS}ms\n---\nYou have little time.`,
  'brief.md': `---\ntimeout: ${BRIEF_MS}ms\n---\nYou have some time.`,
  'acted.md': '---\nengine: scripted\n---\nYou follow a script.',
  'hasty-acted.md': `---\nengine: scripted\ntimeout: ${HASTY_MS}ms\n---\nYou follow a script, and have little time.`,
};

export interface SquadPlan {
  name: string;
  isStateful: boolean;
  members: Member[];
}

/** The roles for runs on a box, and one for its work trees. */
export const BOX_ROLE_FILES: Record<string, string> = Object.fromEntries(
  Object.entries({ ...ROLE_FILES, 'branch.md': '---\nisolation: worktree\n---\nYou commit.' }).map(
    ([file, text]) => [
      file,
      text.startsWith('---\n')
        ? text.replace('---\n', '---\nmachine: box\n')
        : `---\nmachine: box\n---\n${text}`,
    ],
  ),
);

/** Twenty agents of mixed kinds in two squads. On a box there are two more, with work trees. */
export function planMembers(seed: number, round: number, side: string, isOnBox = false): SquadPlan[] {
  const random = createRandom(seed);
  const prefix = `r${round}`;
  let count = 0;
  const make = (isStateful: boolean, recipes: Recipe[]): Member[] =>
    random.shuffle(recipes).map(recipe => {
      const tag = `${prefix}m${String(++count).padStart(2, '0')}`;
      return recipe.engine === 'template'
        ? templateMember(tag, recipe, isStateful, random)
        : scriptedMember(tag, recipe, isStateful, side, random);
    });
  const squads = [
    {
      name: `${prefix}-plain`,
      isStateful: false,
      members: make(false, isOnBox ? [...STATELESS, ...ON_BOX] : STATELESS),
    },
    { name: `${prefix}-chats`, isStateful: true, members: make(true, STATEFUL) },
  ];
  // A box has no sandboxes.
  if (isOnBox) for (const member of squads.flatMap(({ members }) => members)) member.sandbox = 'off';
  return squads;
}

interface Pace {
  lines: number;
  pauseMs: number;
}

function paceOf(shape: Shape, random: Random): Pace {
  switch (shape) {
    case 'slow':
    case 'commits':
      return { lines: random.between(20, 30), pauseMs: 50 };
    case 'long':
      return { lines: 60, pauseMs: 50 };
    case 'around':
      // Before, at and after its limit.
      return { lines: random.between(10, 24), pauseMs: 50 };
    case 'flood':
      return { lines: random.between(10_000, 40_000), pauseMs: 0 };
    case 'session':
      // With little time, its limit passes while what it left is being ended.
      return { lines: random.between(4, 14), pauseMs: 50 };
    default:
      return { lines: random.between(2, 5), pauseMs: 0 };
  }
}

function templateMember(tag: string, recipe: Recipe, isStateful: boolean, random: Random): Member {
  const { lines, pauseMs } = paceOf(recipe.shape, random);
  const kind = recipe.deaf
    ? 'deaf'
    : ['flood', 'session', 'commits'].includes(recipe.shape)
      ? recipe.shape
      : 'lines';
  const exitCode = recipe.shape === 'fails' ? 3 : 0;
  const numbers = Array.from({ length: lines }, (_, i) => i + 1);
  const isFlood = recipe.shape === 'flood';
  const more = isFlood ? ' flood flood flood flood flood flood' : '';
  return {
    ...common(tag, recipe, isStateful, random),
    task: `${tag} ${kind} ${lines} ${pauseMs / 1000} ${exitCode}`,
    exitCode,
    stdout: numbers.map(i => `${i} Grüße ✓ 日本語 😀${more}`),
    stderr: isFlood ? [] : numbers.map(i => `${i} Fehler ✗`),
    floods: 0,
    answer: null,
  };
}

function scriptedMember(
  tag: string,
  recipe: Recipe,
  isStateful: boolean,
  side: string,
  random: Random,
): Member {
  const isFlood = recipe.shape === 'flood';
  const { lines, pauseMs } = isFlood ? { lines: 2, pauseMs: 0 } : paceOf(recipe.shape, random);
  const megabytes = random.between(1, 3);
  const file = `${side}/${tag}`;
  const note = (text: string) => [`append ${file}`, `| ${text}`];
  const stdout = Array.from({ length: lines }, (_, i) => `${i + 1} Grüße ✓ 日本語 😀`);
  const answer = `Fertig: ${tag} ✓ 😀`;
  const script = [
    ...note('start'),
    ...(recipe.shape === 'session'
      ? [`leave echo child >${file}.child; exec sleep 600`, `await ${file}.child`]
      : []),
    ...stdout.flatMap((line, i) => [
      `say ${line}`,
      ...note(`line ${i + 1}`),
      ...(pauseMs > 0 ? [`sleep ${pauseMs}ms`] : []),
    ]),
    ...(isFlood ? [`flood ${megabytes}MB`] : []),
    `report ${answer}`,
    ...note('end'),
    ...(recipe.shape === 'fails' ? ['exit 3'] : []),
  ];
  return {
    ...common(tag, recipe, isStateful, random),
    task: `${tag}\n\`\`\`script\n${script.join('\n')}\n\`\`\``,
    exitCode: recipe.shape === 'fails' ? 3 : 0,
    stdout,
    stderr: [],
    floods: isFlood ? floodLines(megabytes * 1024 ** 2) : 0,
    answer: recipe.shape === 'fails' ? null : answer,
  };
}

/** The scripted engine floods in chunks of 64 lines, each an event with the same text. */
function floodLines(bytes: number): number {
  const line = JSON.stringify({ at: Date.now(), type: 'text', text: 'flood '.repeat(160).trim() }).length + 1;
  return Math.ceil(bytes / (line * 64)) * 64;
}

const common = (tag: string, recipe: Recipe, isStateful: boolean, random: Random) => ({
  tag,
  kind: recipe.kind,
  engine: recipe.engine,
  roleId: recipe.shape === 'commits' ? 'branch' : (recipe.hasty ? HASTY_ROLES : ROLES)[recipe.engine],
  isStateful,
  sandbox: stronger(random.pick<SandboxLevel>(['off', 'off', 'workspace', 'strict']), TEST_SANDBOX ?? 'off'),
  isCancelled: recipe.cancelled === true,
  timeoutMs: recipe.hasty ? HASTY_MS : null,
  leavesChild: recipe.shape === 'session',
});
