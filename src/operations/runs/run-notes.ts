import { longestStart } from '../../core/output/digest.ts';
import type { BoardFilter } from '../../core/ports/store.ts';
import type { Run, RunError } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { isAtReviewLimit } from '../../schema/shown-status.ts';
import type { Services } from '../operation.ts';
import { branchNotes } from './run-work.ts';

/** Notes about one run in a result about several. The next step comes first, because long notes are cut. */
export const notesOfRun = (services: Pick<Services, 'engines'>, run: Run): string[] => [
  ...loginHint(services, run),
  ...branchNotes(run),
  ...run.notes,
];

/** Only a person can log in, so the model has to pass this hint on. */
export function loginHint({ engines }: Pick<Services, 'engines'>, { engine, error, options }: Run): string[] {
  if (error?.code !== 'ENGINE_NOT_LOGGED_IN') return [];
  const hint = engines.clis().flatMap(({ cli, login }) => (cli === engine ? [`For the user: ${login}`] : []));
  return options.sandbox.level === 'off' || hint.length === 0 ? hint : [...hint, NOT_RENEWED];
}

const NOT_RENEWED =
  'Log in outside the sandbox: inside, the login is read-only, so a renewed token is not saved. An API key needs no renewal.';

/** Shortens the notes to `budget` characters of JSON. A cut is marked, because it may hide an important note. */
export function fitNotes(notes: readonly string[], id: string, budget: number): string {
  const whole = notes.join(' ');
  if (longestStart(whole, budget) === whole) return whole;
  const mark = ` … (\`squad show ${shellWord(id)}\` has all notes)`;
  return longestStart(whole, budget - mark.length) + mark;
}

/** Why a run failed, for a result, with the name of the called tool. */
export function runError(
  run: Run,
  tool: string | undefined,
  maxLength: number,
): { code: string; message: string; tool_name?: string } | null {
  const error = run.error ?? timedOut(run);
  return (
    error && {
      code: error.code,
      message: longestStart(error.message, maxLength),
      ...(tool !== undefined && { tool_name: tool }),
    }
  );
}

/** A run that reached its time limit has no error, unless its engine reported one. */
function timedOut({ status, startedAt, timeoutMs }: Run): RunError | null {
  if (status !== 'timeout') return null;
  const state = startedAt === null ? 'had not started' : 'was not done';
  const message = `It ${state} within its time limit of ${timeoutMs / 1_000} s and was stopped. What it wrote until then is kept.`;
  return { code: 'TIMEOUT', message };
}

/** Runs that completed at their review limit and whose work the user has not decided about, newest first. */
export async function undecidedRuns(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  filter: BoardFilter,
): Promise<Run[]> {
  const runs = (await store.leftWithError(filter, clock.now())).filter(isAtReviewLimit);
  const merges = await Promise.all(
    runs.map(({ id }) => store.events({ runId: id, types: ['branch.integrated'], limit: 1 })),
  );
  return runs.filter((_, at) => merges[at]!.length === 0);
}

export async function undecidedAmong(
  services: Pick<Services, 'store' | 'clock'>,
  runs: readonly Run[],
): Promise<Set<Run['id']>> {
  if (!runs.some(isAtReviewLimit)) return new Set();
  return new Set((await undecidedRuns(services, {})).map(({ id }) => id));
}
