import { type Stats, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { RunEndpoint } from '../core/ports/engine.ts';
import type { RunFiles } from '../core/ports/run-files.ts';
import type { Store } from '../core/ports/store.ts';
import type { Command, TurnRef } from '../core/ports/turns.ts';
import type { WorktreeRemains, Worktrees } from '../core/ports/worktrees.ts';
import { hashOf, mintToken } from '../hub/token.ts';
import { IDENTITY_FILE, parseIdentity } from '../link/identity-file.ts';
import { SquadError } from '../schema/error.ts';
import type { Run } from '../schema/run.ts';
import { shellWord } from '../schema/shell-word.ts';
import type { Worktree } from '../schema/worktree.ts';

interface FolderPorts {
  clock: Clock;
  store: Store;
  files: RunFiles;
  worktrees: Worktrees;
  /** Sends the work tree of a run to its machine. */
  send(run: Run, worktree: Worktree, signal: AbortSignal): Promise<string | null>;
}

/** Maximum number of reviews to read. No task has so many. */
const ALL_REVIEWS = 10_000;

/**
 * Makes sure that the folder of a run exists before its agent starts: creates and sets up its work tree. Returns notes for the
 * agent and for readers of its result if the work tree had to be created again.
 */
export const createPrepareFolder =
  (ports: FolderPorts) =>
  async (
    run: Run,
    env: Record<string, string>,
    signal: AbortSignal,
    inSandbox: (command: Command, cwd: string) => Promise<Command>,
  ): Promise<string[]> => {
    const { clock, store, files, worktrees } = ports;
    const { id, squadId, worktree, workspace, options } = run;
    if (!worktree) {
      if (options.machine === null) checkFolder(run.directory);
      return [];
    }
    const left = isContinued(run, worktree) ? await worktrees.remains(worktree) : null;
    const restoredAt =
      left && !left.isThere && left.tip === null ? await restoreBranch(run, worktree, ports) : null;
    const logFile = files.path({ runId: id, number: 1 }, 'setup.log');
    const isHere = options.machine === null;
    const confine =
      options.sandbox.level === 'off' ? null : (command: Command) => inSandbox(command, worktree.workspace);
    const setup = isHere
      ? options.setup && { ...options.setup, source: workspace, env, logFile, confine }
      : null;
    const { made } = await worktrees.ensure(worktree, setup, signal, run.directory);
    const kept = isHere ? null : await ports.send(run, worktree, signal);
    if (kept !== null && !run.notes.includes(kept)) run.notes.push(kept);
    if (!made) return [];
    const body = { type: 'worktree.made' as const, path: worktree.path, branch: worktree.branch };
    await store.commit({ events: [{ at: clock.now(), runId: id, squadId, body }] });
    return left ? [recreationNote(worktree, left, restoredAt)] : [];
  };

/**
 * The run may have waited long since its folder was last checked. Synchronous, so that the agent starts right after
 * the check.
 */
function checkFolder(directory: string): void {
  const found = statOf(directory);
  if (typeof found === 'object' && found.isDirectory()) return;
  const why =
    typeof found === 'object'
      ? 'is not a folder'
      : found === 'ENOENT'
        ? 'does not exist'
        : `cannot be entered (${found})`;
  throw new SquadError('CWD_MISSING', `The folder of the run ${why}: ${directory}`, {
    suggestions: ['Make the folder available again, then retry the run.'],
  });
}

function statOf(path: string): Stats | string {
  try {
    return statSync(path);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code ?? 'error';
  }
}

/** Whether an agent has used the work tree before, in an earlier turn or in the run that this run replies to. */
const isContinued = ({ id, turn }: Run, { path }: Worktree): boolean => turn > 1 || basename(path) !== id;

/**
 * Restores a missing branch at the commit that was reviewed last. Restoring it at its start would silently discard
 * the work.
 */
async function restoreBranch(
  run: Run,
  worktree: Worktree,
  { store, worktrees }: FolderPorts,
): Promise<string | null> {
  const reviews = await store.reviews({ lineageId: run.lineageId, limit: ALL_REVIEWS });
  for (const { coderId, commit, feedbackCommit } of reviews.toReversed()) {
    const coder = coderId === run.id ? run : await store.run(coderId);
    if (coder?.worktree?.path !== worktree.path) continue;
    for (const each of feedbackCommit === null ? [commit] : [feedbackCommit, commit])
      if (await worktrees.restoreBranch(worktree, each)) return each;
  }
  if (await wasDropped(run, worktree, store)) return null;
  throw new SquadError(
    'WORKTREE_MISSING',
    `The work tree of run ${run.id} and its branch ${worktree.branch} are gone, so the run cannot continue. If you know a commit of the branch, run \`git branch ${shellWord(worktree.branch)} COMMIT\` in ${worktree.repository}, then reply to the run.`,
  );
}

/**
 * Whether Squad itself removed the branch. It removes a branch without commits together with its work tree, so
 * nothing is lost by starting the branch again.
 */
async function wasDropped({ lineageId }: Run, { path }: Worktree, store: Store): Promise<boolean> {
  for (const { id, worktree } of await store.runs({ lineageId, hasWorktree: true, limit: ALL_REVIEWS })) {
    if (worktree?.path !== path) continue;
    const types = ['worktree.removed' as const];
    const [last] = await store.events({ runId: id, types, limit: 1, reverse: true });
    if (last?.body.type === 'worktree.removed' && last.body.branchIsGone) return true;
  }
  return false;
}

function recreationNote({ branch }: Worktree, { saved }: WorktreeRemains, restoredAt: string | null): string {
  const newest = saved.at(-1);
  return [
    restoredAt === null
      ? `The work tree was gone and was created again from its branch ${branch}. Uncommitted changes are not in it.`
      : `The work tree and its branch ${branch} were gone. Both were created again from the commit that was reviewed last (${restoredAt.slice(0, 12)}). Later changes are not in it.`,
    ...(newest
      ? [
          `Changes saved from the old work tree are in ${newest}: \`git checkout ${shellWord(newest)} -- .\` restores them.`,
        ]
      : []),
  ].join(' ');
}

interface RunEndpointPorts {
  home: string;
  /** The folder of the bundled programs. */
  programs: string;
  files: RunFiles;
  store: Store;
  /** The hub's HTTP address. Null when the port could not be opened. */
  url(): Promise<string | null>;
}

/**
 * Creates a new token for each turn, and returns the address where the agent reaches Squad. The start of the turn is
 * stored with the token's hash. If the hub dies before that, `restoreTokens` reads the token from the identity file.
 */
export async function endpointOf(
  run: Run,
  turn: TurnRef,
  { home, programs, files, url: urlOf }: RunEndpointPorts,
): Promise<RunEndpoint | null> {
  const url = await urlOf();
  if (url === null) return null;
  const { token, hash } = mintToken();
  const file = await files.write(turn, IDENTITY_FILE, JSON.stringify({ token, home }));
  run.tokenHash = hash;
  const args = [join(programs, '..', 'bin', 'squad.cjs'), 'mcp', '--identity', file];
  return { url, token, relay: { command: process.execPath, args } };
}

/** Restores the tokens of runs whose start an earlier hub could not store before it died. */
export async function restoreTokens(
  runs: Run[],
  { files, store }: Pick<RunEndpointPorts, 'files' | 'store'>,
): Promise<void> {
  for (const run of runs) {
    if (run.tokenHash !== null || run.status === 'queued') continue;
    const number = (await store.turns(run.id)).at(-1)?.number ?? 1;
    const identity = parseIdentity((await files.read({ runId: run.id, number }, IDENTITY_FILE)) ?? '');
    if (identity) run.tokenHash = hashOf(identity.token);
  }
}
