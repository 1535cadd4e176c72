import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RunResult } from '../../src/operations/runs/run-result.ts';
import type { Event } from '../../src/schema/event.ts';
import type { Run, Squad, Turn } from '../../src/schema/run.ts';
import type { RoundFacts, RunFacts } from './facts.ts';
import type { FaultHome } from './fault-home.ts';
import type { HubLink } from './hub-link.ts';
import type { Member } from './members.ts';
import { until } from './patience.ts';
import { processesOfRuns } from './processes.ts';
import { type Answer, runsOf, tagOf } from './requests.ts';
import { CONCURRENCY } from './round.ts';
import type { RoundPlan } from './round-plan.ts';

interface Gathering {
  home: FaultHome;
  plan: RoundPlan;
  link: HubLink;
  /** The last event before the round. */
  after: number;
  seenBefore: Event[];
  answers: Answer[];
  cancelled: Map<string, string>;
  /** When the hub was killed, or the box could not be reached as usual. */
  disturbed: readonly Span[];
}

export interface Span {
  from: number;
  to: number;
}

interface Shown {
  run: Run;
  turns: Turn[];
  squad: Squad | null;
  result: RunResult;
  files: { stdout: string; stderr: string };
}

/** Asks the hub about every run it knows, and looks at what lies on disk and runs on the machine. */
export async function gather(round: Gathering): Promise<RoundFacts> {
  const { home, plan, link, after, seenBefore, answers } = round;
  const runs = await runsOf(link, plan);
  // First of all: whatever still runs now was left behind when its run had ended.
  const processes = processesOfRuns(new Set(runs.map(({ id }) => id)));
  const events: Event[] = [];
  await link.call(
    'follow_events',
    { after, live: false },
    { onItem: event => void events.push(event as Event) },
  );
  const known = new Set(runs.map(({ task }) => tagOf(task)));
  const ran = readdirSync(home.side).filter(name => /^r\d+m\d+$/.test(name));
  return {
    squads: await Promise.all(
      plan.squads.map(async (squad, i) => ({
        plan: squad,
        promised: answers[i]!.promised,
        isCut: answers[i]!.isCut === true,
        runs: await Promise.all(
          runs
            .filter(({ task }) => squad.members.some(({ tag }) => tag === tagOf(task)))
            .sort((a, b) => a.position - b.position)
            .map(run => runFacts(run, memberOf(plan, run), events, round)),
        ),
      })),
    ),
    events,
    seenBefore,
    strangers: ran.filter(tag => tag.startsWith(`r${plan.round}m`) && !known.has(tag)),
    processes: processes.map(({ pid, command }) => `${pid} ${command.slice(0, 120)}`),
    hubs: await settledHubs(home),
    concurrency: CONCURRENCY,
  };
}

/** Two that were started at the same moment need a while to settle which of them stays. */
async function settledHubs(home: FaultHome): Promise<number> {
  await until('one hub', () => home.hubPids().length === 1, 5_000).catch(() => {});
  return home.hubPids().length;
}

const memberOf = (plan: RoundPlan, { task }: Run): Member =>
  plan.squads.flatMap(({ members }) => members).find(({ tag }) => tag === tagOf(task))!;

async function runFacts(
  { id }: Run,
  member: Member,
  events: Event[],
  { home, link, cancelled, disturbed }: Gathering,
): Promise<RunFacts> {
  const { run, turns, squad, result, files } = await link.call<Shown>('show_run', { run: id });
  const mine = events.filter(({ runId }) => runId === id);
  const [agentEnd, recorded] = [turns.at(-1)?.endedAt ?? 0, mine.at(-1)?.at ?? 0];
  return {
    member,
    run,
    turns,
    squad,
    result,
    events: mine,
    stdout: bytes(files.stdout),
    stderr: bytes(files.stderr),
    side: lines(join(home.side, member.tag)),
    chatSide: lines(join(home.side, `${member.tag}.chat`)),
    chatPrompts: member.engine === 'scripted' ? promptsOf(home, run) : null,
    hasEnvironment: existsSync(join(dirname(dirname(files.stdout)), 'environment.json')),
    wasOverlooked: disturbed.some(({ from, to }) => agentEnd <= to && from <= recorded),
    work: member.kind === 'commits' ? workOf(run, member) : null,
    cancelAnswer: cancelled.get(member.tag) ?? null,
  };
}

/** What came here of the work of an agent on a box. */
function workOf({ worktree }: Run, { tag }: Member): RunFacts['work'] {
  if (!worktree || !existsSync(worktree.path)) return { committed: '', file: '' };
  const name = `${tag}.txt`;
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: worktree.path, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const isCommitted = git('ls-tree', '--name-only', worktree.branch, name) !== '';
  return {
    committed: isCommitted ? git('show', `${worktree.branch}:${name}`) : '',
    file: bytes(join(worktree.path, name)).toString(),
  };
}

const bytes = (file: string): Buffer => (existsSync(file) ? readFileSync(file) : Buffer.alloc(0));
const lines = (file: string): string[] => bytes(file).toString().split('\n').filter(Boolean);

/** The chat of an agent on a box is there. */
function promptsOf({ root }: FaultHome, { chatId }: Run): string[] | null {
  const [file] = globSync(`{state,box/home/.squad-runner/hubs/*}/chats/scripted/${chatId}/prompts.json`, {
    cwd: root,
  });
  return chatId !== null && file ? JSON.parse(readFileSync(join(root, file), 'utf8')) : null;
}
