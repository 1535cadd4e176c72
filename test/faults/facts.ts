import type { RunResult } from '../../src/operations/runs/run-result.ts';
import type { Event } from '../../src/schema/event.ts';
import type { Run, Squad, Turn } from '../../src/schema/run.ts';
import type { Member, SquadPlan } from './members.ts';

/** One run: what the hub says of it, and what can be seen without asking the hub. */
export interface RunFacts {
  member: Member;
  run: Run;
  turns: Turn[];
  squad: Squad | null;
  result: RunResult;
  /** In the order of the log. */
  events: Event[];
  stdout: Buffer;
  stderr: Buffer;
  /** The lines the agent wrote to its own file. */
  side: string[];
  /** The lines its create-chat command wrote. */
  chatSide: string[];
  /** Prompts that the scripted engine stored for the chat, one for each turn. */
  chatPrompts: string[] | null;
  /** On a box: what its branch and its work tree have of the file that it wrote. Null for other agents. */
  work: { committed: string; file: string } | null;
  /** The environment, with whatever secrets it holds, is still in the run's folder. */
  hasEnvironment: boolean;
  /** A hub was killed between the agent's end and the record of it: what that hub knew is gone. */
  wasOverlooked: boolean;
  /** The status in the answer to the cancel request; null when no answer came. */
  cancelAnswer: string | null;
}

export interface SquadFacts {
  plan: SquadPlan;
  /** The ids the caller was given; null when the call got no such answer. */
  promised: string[] | null;
  /** These are only the first: the answer was full. */
  isCut: boolean;
  runs: RunFacts[];
}

export interface RoundFacts {
  squads: SquadFacts[];
  /** Every event since the round began, in the order of the log. */
  events: Event[];
  /** Events that a follower received before the hub was killed. */
  seenBefore: Event[];
  /** Side files of agents that belong to no known run. */
  strangers: string[];
  /** Processes that still carry the tag of a run of this round. */
  processes: string[];
  hubs: number;
  concurrency: number;
}
