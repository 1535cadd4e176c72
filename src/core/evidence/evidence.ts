import { type Evidence, MOST_COMMITS_NAMED, MOST_FILES_NAMED } from '../../schema/evidence.ts';
import type { EndStatus } from '../../schema/run.ts';
import type { Baseline, ChangedFile, WorkChanges } from '../../schema/work.ts';
import { verdict } from './verdict.ts';

/** Everything Squad knows about a run that has ended, before it is put into evidence. */
export interface Observed {
  status: EndStatus;
  exitCode: number | null;
  durationMs: number | null;
  leftoversKilled: number;
  hasWords: boolean;
  structured: 'valid' | 'invalid' | null;
  /** Of this turn. Null when the engine reports none. */
  tools: { calls: number; failures: number; denials: number; edits: number } | null;
  /** Null when nobody looked at the folder in time. */
  baseline: Baseline | null;
  changes: WorkChanges | null;
  startedAt: number | null;
  otherRuns: number;
  /** Of the turns before this one; null: there was none. */
  earlier: Evidence | null;
}

export function evidenceOf(seen: Observed): Evidence {
  const { changes, earlier } = seen;
  const tools = wholeTools(seen);
  const isLate = wasLate(seen);
  const files = changes?.files ?? null;
  const commits = changes?.commits ?? null;
  return {
    exitCode: seen.exitCode,
    durationMs: seen.durationMs,
    toolCalls: tools?.calls ?? null,
    toolFailures: tools?.failures ?? null,
    toolDenials: tools?.denials ?? null,
    toolEdits: tools?.edits ?? null,
    filesChanged: files && { count: files.length, files: files.slice(0, MOST_FILES_NAMED).map(nameOf) },
    commits: commits && { count: commits.count, newest: commits.newest.slice(0, MOST_COMMITS_NAMED) },
    diff: changes?.lines ?? null,
    leftoversKilled: (earlier?.leftoversKilled ?? 0) + seen.leftoversKilled,
    note: noteOf({ ...seen, tools }, isLate),
    verdict: verdict({
      status: seen.status,
      exitCode: seen.exitCode,
      hasWords: seen.hasWords,
      structured: seen.structured,
      filesChanged: files?.length ?? null,
      commits: commits?.count ?? null,
      toolCalls: tools?.calls ?? null,
      toolFailures: tools?.failures ?? null,
      toolDenials: tools?.denials ?? null,
      reportedEdits: tools?.edits ?? null,
      isShared: seen.otherRuns > 0,
      isElsewhere: changes?.isElsewhere === true,
    }),
  };
}

/** Over all turns: what was changed is compared with the folder before the first of them. */
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

function noteOf({ baseline, changes, otherRuns, tools }: Observed, isLate: boolean): string | null {
  const notes = [
    baseline === null ? 'nobody looked at the folder before the start' : baseline.why,
    isLate ? 'baseline taken late: changes made before it are missing' : null,
    otherRuns > 0
      ? `${otherRuns} other ${otherRuns === 1 ? 'run' : 'runs'} worked in this folder at the same time`
      : null,
    editsUnseen(tools, changes)
      ? 'the engine reported edits that git does not show: ignored files, or outside the repository'
      : null,
    ...(changes?.notes ?? []),
  ].filter(note => note !== null);
  return notes.length > 0 ? notes.join('; ') : null;
}
