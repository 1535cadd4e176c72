import { z } from 'zod';
import { firstThatFit, longestStart } from '../../core/output/digest.ts';
import { CommitMade, Verdict } from '../../schema/evidence.ts';
import { isEnd, type Run, type Turn } from '../../schema/run.ts';

/** Paths and subjects can be long, and results have a size to keep. In characters of JSON. */
const ROOM = { files: 1_200, commits: 600, note: 300 };

/** What Squad saw of a run. Null where nothing was seen, and until the run has ended: nobody has looked yet. */
export const RunEvidence = z.object({
  verdict: Verdict.nullable(),
  exit_code: z.number().nullable(),
  tool_calls: z.number().nullable(),
  tool_failures: z.number().nullable(),
  /** `files` is a sample: the first ones that fit. */
  files_changed: z.object({ count: z.number(), files: z.array(z.string()).optional() }).nullable(),
  commits: z.object({ count: z.number(), newest: z.array(CommitMade).optional() }).nullable(),
  diff: z.object({ insertions: z.number(), deletions: z.number() }).nullable(),
  leftovers_killed: z.number().nullable(),
  note: z.string().optional(),
});
export type RunEvidence = z.infer<typeof RunEvidence>;

export function runEvidence({ evidence, status }: Run, turn: Turn | undefined): RunEvidence {
  if (evidence === null)
    return {
      ...UNSEEN,
      exit_code: turn?.exitCode ?? null,
      leftovers_killed: isEnd(status) ? (turn?.leftovers.length ?? 0) : null,
    };
  const { filesChanged, commits, note } = evidence;
  return {
    verdict: evidence.verdict,
    exit_code: evidence.exitCode,
    tool_calls: evidence.toolCalls,
    tool_failures: evidence.toolFailures,
    files_changed: filesChanged && {
      count: filesChanged.count,
      files: firstThatFit(filesChanged.files, ROOM.files),
    },
    commits: commits && { count: commits.count, newest: firstThatFit(commits.newest, ROOM.commits) },
    diff: evidence.diff,
    leftovers_killed: evidence.leftoversKilled,
    ...(note !== null && { note: longestStart(note, ROOM.note) }),
  };
}

/** The figures without the names. */
export function briefly({ files_changed, commits, note, ...rest }: RunEvidence): RunEvidence {
  return {
    ...rest,
    files_changed: files_changed && { count: files_changed.count },
    commits: commits && { count: commits.count },
  };
}

const UNSEEN: RunEvidence = {
  verdict: null,
  exit_code: null,
  tool_calls: null,
  tool_failures: null,
  files_changed: null,
  commits: null,
  diff: null,
  leftovers_killed: null,
};
