import { sep } from 'node:path';
import {
  type Baseline,
  type ChangedFile,
  type Evidence,
  MAX_COMMITS_NAMED,
  MAX_FILES_NAMED,
  type Verdict,
  type WorkChanges,
} from '../../schema/evidence.ts';
import type { EndStatus, Run, RunError } from '../../schema/run.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Store } from '../ports/store.ts';
import type { TurnEnd, TurnRef } from '../ports/turns.ts';
import type { FolderChanges } from '../ports/worktrees.ts';
import type { LiveRun } from '../runs/live-run.ts';
import { usesSameFolder } from './baseline.ts';

/**
 * One word for how far a run's claim can be trusted. The first row that fits decides; docs/guides/evidence.md has the same
 * table.
 *
 * | The run       | What Squad saw                                                              | Word         |
 * | ------------- | --------------------------------------------------------------------------- | ------------ |
 * | any           | its structured answer does not fit the schema                               | contradicted |
 * | not completed | neither output nor changes                                                  | empty        |
 * | not completed | output or changes, not verified                                             | claimed      |
 * | completed     | its exit code is not 0, and not that of a signal which ended it afterwards   | contradicted |
 * | completed     | nothing backs it, and tool calls were denied or all of them failed          | contradicted |
 * | completed     | files changed, commits, or a structured answer that fits the schema         | verified     |
 * | completed     | output only, edits the engine reported and git does not show, or work on another branch than the run's | claimed |
 * | completed     | nothing                                                                     | empty        |
 *
 * *Verified* says that something happened, not that it is right.
 */
export function verdict(facts: VerdictFacts): Verdict {
  const hasChanges = (facts.filesChanged ?? 0) > 0 || (facts.commits ?? 0) > 0;
  const hasAnything = facts.hasOutput || hasChanges || (facts.toolEdits ?? 0) > 0;
  if (facts.structured === 'invalid') return 'contradicted';
  if (facts.status !== 'completed') return hasAnything ? 'claimed' : 'empty';
  if (facts.exitCode !== null && !HARMLESS_EXITS.has(facts.exitCode)) return 'contradicted';
  const isBacked = facts.structured === 'valid' || (hasChanges && areItsOwn(facts));
  if (!isBacked && wasObstructed(facts)) return 'contradicted';
  if (isBacked) return 'verified';
  return hasAnything ? 'claimed' : 'empty';
}

/**
 * Exit codes of success and of being killed (HUP, INT, KILL, TERM). A killed run is only completed if it had reported
 * its success before.
 */
const HARMLESS_EXITS = new Set([0, 129, 130, 137, 143]);

export interface VerdictFacts
  extends Pick<Observed, 'status' | 'exitCode' | 'hasOutput' | 'structured'>,
    Pick<Evidence, 'toolCalls' | 'toolFailures' | 'toolDenials' | 'toolEdits'> {
  /** Null when the number of changed files is unknown. */
  filesChanged: number | null;
  commits: number | null;
  /** Other runs worked in the same folder at the same time, so changes may be theirs. */
  isShared: boolean;
  /** The work tree is not on the run's own branch, so its changes are not what the run delivers. */
  isElsewhere: boolean;
}

/**
 * Whether changes count as the run's own. In a shared folder the engine must also have reported edits, because the
 * changes could be another run's.
 */
const areItsOwn = ({ isShared, isElsewhere, toolEdits }: VerdictFacts): boolean =>
  !isElsewhere && (!isShared || (toolEdits ?? 0) > 0);

function wasObstructed({ toolCalls, toolFailures, toolDenials }: VerdictFacts): boolean {
  const allFailed = toolCalls !== null && toolCalls > 0 && toolFailures === toolCalls;
  return allFailed || (toolDenials ?? 0) > 0;
}

/** Everything Squad knows about a run that has ended. */
export interface Observed {
  status: EndStatus;
  exitCode: number | null;
  durationMs: number | null;
  leftoversKilled: number;
  /** The answer contains more than white space. For an engine without answers, any output counts. */
  hasOutput: boolean;
  /** Whether the structured answer matches its schema. Null when the run has no schema. */
  structured: 'valid' | 'invalid' | null;
  /** Tool calls of this turn. Null when the engine reports none. */
  tools: { calls: number; failures: number; denials: number; edits: number } | null;
  /** Null when the snapshot of the folder was not ready in time. */
  baseline: Baseline | null;
  changes: WorkChanges | null;
  startedAt: number | null;
  otherRuns: number;
  /** True if the run's sandbox lost its network in this turn. */
  isCutOff: boolean;
  /** Hosts that the run's sandbox blocked in any of its turns. */
  refusedHosts: string[];
  /** Evidence of the turns before this one. Null in the first turn. */
  earlier: Evidence | null;
}

export function evidenceOf(seen: Observed): Evidence {
  const { changes, earlier } = seen;
  const tools = wholeTools(seen);
  const isLate = wasLate(seen);
  const files = changes?.files ?? null;
  const commits = changes?.commits ?? null;
  const { status, exitCode, hasOutput, structured } = seen;
  const ofTools = {
    toolCalls: tools?.calls ?? null,
    toolFailures: tools?.failures ?? null,
    toolDenials: tools?.denials ?? null,
    toolEdits: tools?.edits ?? null,
  };
  return {
    exitCode,
    durationMs: seen.durationMs,
    ...ofTools,
    filesChanged: files && { count: files.length, files: files.slice(0, MAX_FILES_NAMED).map(nameOf) },
    commits: commits && { count: commits.count, newest: commits.newest.slice(0, MAX_COMMITS_NAMED) },
    diff: changes?.lines ?? null,
    leftoversKilled: (earlier?.leftoversKilled ?? 0) + seen.leftoversKilled,
    note: noteOf({ ...seen, tools }, isLate),
    verdict: verdict({
      ...{ status, exitCode, hasOutput, structured, ...ofTools },
      filesChanged: files?.length ?? null,
      commits: commits?.count ?? null,
      isShared: seen.otherRuns > 0,
      isElsewhere: changes?.isElsewhere === true,
    }),
  };
}

/** Tool calls of all turns, because changes are compared with the folder before the first turn. */
function wholeTools({ tools, earlier }: Observed): Observed['tools'] {
  if (earlier?.toolCalls == null) return tools;
  return {
    calls: earlier.toolCalls + (tools?.calls ?? 0),
    failures: (earlier.toolFailures ?? 0) + (tools?.failures ?? 0),
    denials: (earlier.toolDenials ?? 0) + (tools?.denials ?? 0),
    edits: (earlier.toolEdits ?? 0) + (tools?.edits ?? 0),
  };
}

const wasLate = ({ baseline, startedAt }: Observed): boolean =>
  baseline?.snapshot != null && startedAt !== null && baseline.snapshot.readyAt > startedAt;

const nameOf = ({ status, path, isOutside }: ChangedFile): string =>
  `${status} ${path}${isOutside ? ' (outside its folder)' : ''}`;

const editsUnseen = (tools: Observed['tools'], changes: WorkChanges | null): boolean =>
  (tools?.edits ?? 0) > 0 && changes?.files?.length === 0 && changes.commits?.count === 0;

function noteOf(
  { baseline, changes, otherRuns, tools, isCutOff, refusedHosts }: Observed,
  isLate: boolean,
): string | null {
  const notes = [
    baseline === null ? 'there is no snapshot of the folder from before the start' : baseline.why,
    isLate ? 'baseline taken late: changes made before it are missing' : null,
    otherRuns > 0
      ? `${otherRuns} other ${otherRuns === 1 ? 'run' : 'runs'} worked in this folder at the same time`
      : null,
    editsUnseen(tools, changes)
      ? 'the engine reported edits that git does not show: ignored files, or outside the repository'
      : null,
    isCutOff
      ? 'the proxy process of its sandbox ended: from then on it reached no host, and not Squad'
      : null,
    refusedHosts.length > 0 ? `its sandbox refused connections to ${listed(refusedHosts)}` : null,
    ...(changes?.notes ?? []),
  ].filter(note => note !== null);
  return notes.length > 0 ? notes.join('; ') : null;
}

const MAX_HOSTS_NAMED = 10;

function listed(hosts: readonly string[]): string {
  const more = hosts.length - MAX_HOSTS_NAMED;
  return `${hosts.slice(0, MAX_HOSTS_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export interface EvidencePorts {
  files: RunFiles;
  store: Store;
  workTree: FolderChanges;
  /**
   * Brings commits of an agent in a sandbox or on another machine into the repository. Returns a note for readers of the run's
   * result.
   */
  collectCommits(run: Run, end: TurnEnd): Promise<string | null>;
  /** Runs that have not ended. */
  liveRuns(): Run[];
}

export interface Ending {
  status: EndStatus;
  error: RunError | null;
  end: TurnEnd;
}

/** Number of bytes that are checked for anything other than white space. */
const PEEK_BYTES = 4_096;
const MAX_OTHERS = 1_000;

export async function gatherEvidence(
  entry: LiveRun,
  ending: Ending,
  ports: EvidencePorts,
): Promise<Evidence> {
  const { run, report, baseline, turnNumber, engine } = entry;
  const { status, error, end } = ending;
  const { files, workTree } = ports;
  const turn = { runId: run.id, number: turnNumber };
  const output = engine.reader ? report.answer : (await files.page(turn, 'stdout', 0, PEEK_BYTES)).text;
  return evidenceOf({
    status,
    exitCode: end.exitCode,
    durationMs: run.startedAt === null ? null : Math.max(0, end.endedAt - run.startedAt),
    leftoversKilled: end.leftovers.length,
    hasOutput: output.trim() !== '',
    structured: structuredOf(run, status, error),
    tools: report.tools,
    baseline,
    changes: baseline?.snapshot
      ? await workTree.changes(run.directory, baseline.snapshot, {
          workspace: run.workspace,
          branch: run.worktree?.branch,
        })
      : null,
    startedAt: run.startedAt,
    // The evidence was stored at the end of the previous turn, so it survives a restart.
    earlier: turnNumber > 1 ? run.evidence : null,
    otherRuns: await countOthers(entry, end, ports),
    isCutOff: run.options.sandbox.network !== 'full' && files.isCutOff(turn),
    refusedHosts: run.options.sandbox.network === 'full' ? [] : await refusedHosts(turn, files),
  });
}

async function refusedHosts({ runId, number }: TurnRef, files: RunFiles): Promise<string[]> {
  const turns = Array.from({ length: number }, (_, at) => files.refusedHosts({ runId, number: at + 1 }));
  const refused = (await Promise.all(turns)).flat();
  return [...new Set(refused.map(({ host, port }) => `${host}:${port}`))];
}

function structuredOf(
  { options }: Run,
  status: EndStatus,
  error: RunError | null,
): 'valid' | 'invalid' | null {
  if (options.outputSchema === null) return null;
  if (error?.code === 'OUTPUT_MISMATCH') return 'invalid';
  return status === 'completed' ? 'valid' : null;
}

/**
 * Counts other runs that were running in the same repository or folder at any time during this run. Changes may be
 * theirs.
 */
async function countOthers(
  { run, baseline }: LiveRun,
  end: TurnEnd,
  { store, liveRuns }: EvidencePorts,
): Promise<number> {
  if (run.startedAt === null) return 0;
  const root = baseline?.snapshot?.root ?? null;
  const isNear = (other: Run) =>
    root === null
      ? usesSameFolder(run, other) && other.options.machine === run.options.machine
      : `${other.directory}${sep}`.startsWith(`${root}${sep}`);
  const ended = await store.endedSince(run.startedAt, MAX_OTHERS);
  const others = [...ended, ...liveRuns()].filter(
    other =>
      other.id !== run.id && other.startedAt !== null && other.startedAt <= end.endedAt && isNear(other),
  );
  return new Set(others.map(({ id }) => id)).size;
}
