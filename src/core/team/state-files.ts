import type { Clock } from '../../base/clock.ts';
import { asMarkdownText } from '../../base/text.ts';
import type { Event } from '../../schema/event.ts';
import { isEnd, type Run, RunStatus, runSummary } from '../../schema/run.ts';
import { type ShownStatus, shownStatus } from '../../schema/shown-status.ts';
import type { Store } from '../ports/store.ts';
import { firstSentence } from '../text.ts';

/**
 * Divides a file that people may edit: text above the mark is theirs and stays unchanged, text below it is Squad's.
 * Without the mark all text is theirs.
 */
const MARK =
  '<!-- squad: everything below this line is written by Squad; your own notes are safe above it -->';

const IAC_HEAD = `# Inter-agent log

Every start and end of a run in this workspace, oldest first.

`;
const CONTEXT_HEAD = `# Agents

Agents running in this workspace, and the latest runs.

`;

/** Content of the file before the first run. */
export const emptyTeamFile = (name: 'IAC.md' | 'CONTEXT.md'): string =>
  `${name === 'IAC.md' ? IAC_HEAD : CONTEXT_HEAD}No agent has run in this workspace yet.\n`;

/** Size of the log from which its oldest entries are dropped. */
export const MAX_LOG_BYTES = 256 * 1024;
/**
 * Size of the log after entries were dropped. Smaller than the maximum, so that the file is not rewritten with every
 * entry.
 */
const KEPT_LOG_BYTES = 192 * 1024;
const DROPPED = '- (older entries were dropped)';

/** Adds lines to the log: returns text to append, or a new file. All texts have one character for each byte. */
export function addToLog(
  file: string | null,
  lines: readonly string[],
): { append: string } | { replace: string } {
  const { above, ours, isMarked } = split(file, IAC_HEAD);
  // A line that a crash left incomplete is ended first.
  const lineEnd = ours === '' || ours.endsWith('\n') ? '' : '\n';
  const added = lineEnd + lines.map(line => `${line}\n`).join('');
  const isShort = ours.length + added.length <= MAX_LOG_BYTES;
  if (isMarked && isShort) return { append: added };
  return { replace: above + (isShort ? ours + added : newest(ours + added)) };
}

/** Replaces Squad's part of the file. */
export function withState(file: string | null, text: string): string {
  return `${split(file, CONTEXT_HEAD).above}\n${text}\n`;
}

function split(file: string | null, head: string): { above: string; ours: string; isMarked: boolean } {
  if (file === null || file.trim() === '') return { above: `${head}${MARK}\n`, ours: '', isMarked: false };
  const at = file.indexOf(MARK);
  const lineEnd = at < 0 ? -1 : file.indexOf('\n', at);
  if (lineEnd >= 0)
    return { above: file.slice(0, lineEnd + 1), ours: file.slice(lineEnd + 1), isMarked: true };
  const theirs = at < 0 ? file : file.slice(0, at);
  const gap = theirs === '' || theirs.endsWith('\n') ? '' : '\n';
  return { above: `${theirs}${gap}${at < 0 ? '\n' : ''}${MARK}\n`, ours: '', isMarked: false };
}

/** The last lines that fit, after a line that says that older ones were dropped. */
function newest(log: string): string {
  const lines = log.replace(/[\r\n]+$/, '').split('\n');
  let first = lines.length;
  let bytes = 0;
  while (first > 0) {
    bytes += lines[first - 1]!.length + 1;
    if (bytes > KEPT_LOG_BYTES) break;
    first--;
  }
  return `${[DROPPED, ...lines.slice(first)].join('\n')}\n`;
}

const MAX_RUNS = 100;

/** The running agents of a workspace and the latest of its runs. */
export async function teamState(store: Store, clock: Clock, workspace: string): Promise<TeamState> {
  const [active, recent] = await Promise.all([
    store.runs({ workspace, status: RunStatus.options.filter(status => !isEnd(status)), limit: MAX_RUNS }),
    store.runs({ workspace, limit: MAX_RUNS }),
  ]);
  return {
    at: clock.now(),
    active: active.map(run => ({
      ...teamRun(run),
      status: run.status,
      since: run.startedAt ?? run.createdAt,
    })),
    recent: recent
      .filter(run => run.endedAt !== null)
      .map(run => ({ ...teamRun(run), ...teamCost(run), status: shownStatus(run), endedAt: run.endedAt! })),
  };
}

/** The log entry for a start or an end. Null for any other event. */
export function teamEntry({ at, body }: Event, run: Run, answer: string): TeamEntry | null {
  if (body.type === 'run.started') return { ...teamRun(run), kind: 'start', at };
  if (body.type === 'run.ended')
    return {
      ...teamRun(run),
      ...teamCost(run),
      ...{ kind: 'end', at, status: shownStatus(body) },
      result: answer.trim() || (body.error ? `${body.error.code}: ${body.error.message}` : ''),
    };
  return null;
}

const teamRun = (run: Run): TeamRun => ({
  runId: run.id,
  squadId: run.squadId,
  name: run.roleId ?? run.options.subagent,
  engine: run.engine,
  model: run.model,
  summary: runSummary(run),
});

const teamCost = ({ startedAt, endedAt, usage }: Run): TeamCost => ({
  durationMs: startedAt !== null && endedAt !== null ? endedAt - startedAt : null,
  costUsd: usage?.costUsd ?? null,
  costIsEstimated: usage?.costIsEstimated ?? false,
  tokens: usage && { input: usage.input, output: usage.output },
});

interface TeamRun {
  runId: string;
  squadId: string;
  /** Role or subagent of the run. Null if it has neither. */
  name: string | null;
  engine: string;
  model: string | null;
  /** The task, or a summary of it. */
  summary: string;
}

interface TeamCost {
  durationMs: number | null;
  costUsd: number | null;
  /** True if the cost was calculated from a price list, not reported by the engine. */
  costIsEstimated?: boolean;
  tokens?: { input: number | null; output: number | null } | null;
}

export type TeamEntry = TeamRun & { at: number } & (
    | { kind: 'start' }
    | ({
        kind: 'end';
        status: ShownStatus;
        /** The answer, or the reason why there is none. */
        result: string;
      } & TeamCost)
  );

export type ActiveAgent = TeamRun & { status: RunStatus; since: number };
export type RecentRun = TeamRun & TeamCost & { status: ShownStatus; endedAt: number };

export interface TeamState {
  at: number;
  active: ActiveAgent[];
  /** Latest runs, newest first. */
  recent: RecentRun[];
}

const MAX_SUMMARY_LENGTH = 120;
const MAX_NAME_LENGTH = 40;
const MAX_RESULT_LENGTH = 200;
const MAX_ACTIVE = 100;
const MAX_RECENT = 25;

/** One start or end as one line. Task and result come last, so that they cannot be mistaken for another field. */
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
  const result = entry.kind === 'end' ? asMarkdownText(firstSentence(entry.result), MAX_RESULT_LENGTH) : '';
  return `- ${fields.join(' · ')}${result === '' ? '' : ` → ${result}`}`;
}

export function stateText({ at, active, recent }: TeamState): string {
  return [
    `As of ${time(at)}.`,
    `## Active agents (${active.length})`,
    active.length === 0
      ? 'No agent is running.'
      : table(
          ['Run', 'Squad', 'Agent', 'Status', 'Since', 'Task'],
          active
            .slice(0, MAX_ACTIVE)
            .map(run => [...idsOf(run), run.status, time(run.since), summaryOf(run)]),
        ),
    ...(active.length > MAX_ACTIVE ? [`And ${active.length - MAX_ACTIVE} more.`] : []),
    '## Recent runs',
    recent.length === 0
      ? 'No run has ended yet.'
      : table(
          ['Run', 'Squad', 'Agent', 'Status', 'Ended', 'Duration', 'Cost', 'Task'],
          recent
            .slice(0, MAX_RECENT)
            .map(run => [
              ...[...idsOf(run), run.status, time(run.endedAt)],
              ...[duration(run), cost(run), summaryOf(run)],
            ]),
        ),
  ].join('\n\n');
}

const idsOf = (run: TeamRun): string[] => [word(run.runId), word(run.squadId), whoOf(run)];
const word = (text: string): string => asMarkdownText(text, MAX_NAME_LENGTH);
const summaryOf = ({ summary }: TeamRun): string =>
  asMarkdownText(summary, MAX_SUMMARY_LENGTH) || '(no summary)';

function whoOf({ name, engine, model }: TeamRun): string {
  const engineText = [engine, ...(model === null ? [] : [model])].map(word).join(', ');
  return name === null ? engineText : `${word(name)} (${engineText})`;
}

/** Time in UTC with seconds, the same for every reader. */
const time = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

const duration = ({ durationMs }: TeamCost): string =>
  durationMs === null ? 'time unknown' : `${(durationMs / 1000).toFixed(1)} s`;

function cost({ costUsd, costIsEstimated = false }: TeamCost): string {
  if (costUsd === null) return 'cost unknown';
  return `$${costUsd.toFixed(4)}${costIsEstimated ? ' (estimated)' : ''}`;
}

function tokens({ tokens: used }: TeamCost): string[] {
  if (!used || (used.input === null && used.output === null)) return [];
  return [`tokens ${used.input ?? 'not reported'} in, ${used.output ?? 'not reported'} out`];
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');
}
