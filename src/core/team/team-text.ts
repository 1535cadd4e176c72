import { asMarkdownText } from '../../base/one-line.ts';
import type { RunStatus } from '../../schema/run.ts';
import type { ShownStatus } from '../../schema/shown-status.ts';
import { firstSentence } from '../first-sentence.ts';

/** Who a run is, in the files people and agents of a workspace read. */
export interface TeamRun {
  runId: string;
  squadId: string;
  /** Its role, or the subagent it is a call of; null: it has neither. */
  name: string | null;
  engine: string;
  model: string | null;
  /** What it is to do, in somebody's words: the task, or a summary of it. */
  summary: string;
}

export interface TeamCost {
  durationMs: number | null;
  costUsd: number | null;
  /** Worked out from a price list, not reported by the engine. */
  costIsEstimated?: boolean;
  tokens?: { input: number | null; output: number | null } | null;
}

export type TeamEntry = TeamRun & { at: number } & (
    | { kind: 'start' }
    | ({
        kind: 'end';
        status: ShownStatus;
        /** How the result begins, or why there is none; empty: it said nothing. */
        result: string;
      } & TeamCost)
  );

export type ActiveAgent = TeamRun & { status: RunStatus; since: number };
export type RecentRun = TeamRun & TeamCost & { status: ShownStatus; endedAt: number };

export interface TeamState {
  at: number;
  active: ActiveAgent[];
  /** Newest first. */
  recent: RecentRun[];
}

const LONGEST_SUMMARY = 120;
const LONGEST_NAME = 40;
const LONGEST_RESULT = 200;
const MOST_ACTIVE = 100;
const MOST_RECENT = 25;

/** One start or end, on one line. Task and result come last, where they can be mistaken for nothing else. */
export function entryLine(entry: TeamEntry): string {
  const fields = [
    time(entry.at),
    entry.kind,
    word(entry.runId),
    word(entry.squadId),
    whoOf(entry),
    ...(entry.kind === 'end' ? [entry.status, duration(entry), cost(entry), ...tokens(entry)] : []),
    summaryOf(entry),
  ];
  const result = entry.kind === 'end' ? asMarkdownText(firstSentence(entry.result), LONGEST_RESULT) : '';
  return `- ${fields.join(' · ')}${result === '' ? '' : ` → ${result}`}`;
}

/** Who is at work and what was done last. */
export function stateText({ at, active, recent }: TeamState): string {
  return [
    `As of ${time(at)}.`,
    `## Active agents (${active.length})`,
    active.length === 0
      ? 'No agent is at work.'
      : table(
          ['Run', 'Squad', 'Agent', 'Status', 'Since', 'Task'],
          active
            .slice(0, MOST_ACTIVE)
            .map(run => [...idsOf(run), run.status, time(run.since), summaryOf(run)]),
        ),
    ...(active.length > MOST_ACTIVE ? [`And ${active.length - MOST_ACTIVE} more.`] : []),
    '## Recent runs',
    recent.length === 0
      ? 'No run has ended yet.'
      : table(
          ['Run', 'Squad', 'Agent', 'Status', 'Ended', 'Duration', 'Cost', 'Task'],
          recent
            .slice(0, MOST_RECENT)
            .map(run => [
              ...[...idsOf(run), run.status, time(run.endedAt)],
              ...[duration(run), cost(run), summaryOf(run)],
            ]),
        ),
  ].join('\n\n');
}

const idsOf = (run: TeamRun): string[] => [word(run.runId), word(run.squadId), whoOf(run)];
const word = (text: string): string => asMarkdownText(text, LONGEST_NAME);
const summaryOf = ({ summary }: TeamRun): string =>
  asMarkdownText(summary, LONGEST_SUMMARY) || '(no summary)';

function whoOf({ name, engine, model }: TeamRun): string {
  const way = [engine, ...(model === null ? [] : [model])].map(word).join(', ');
  return name === null ? way : `${word(name)} (${way})`;
}

/** To the second, in UTC: the same for every reader. */
const time = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

const duration = ({ durationMs }: TeamCost): string =>
  durationMs === null ? 'time not known' : `${(durationMs / 1000).toFixed(1)} s`;

function cost({ costUsd, costIsEstimated = false }: TeamCost): string {
  if (costUsd === null) return 'cost not known';
  return `$${costUsd.toFixed(4)}${costIsEstimated ? ' (estimated)' : ''}`;
}

function tokens({ tokens: used }: TeamCost): string[] {
  if (!used || (used.input === null && used.output === null)) return [];
  return [`tokens ${used.input ?? 'not reported'} in, ${used.output ?? 'not reported'} out`];
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');
}
