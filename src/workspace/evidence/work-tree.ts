import { existsSync } from 'node:fs';
import type { WorkTree } from '../../core/ports/changes.ts';
import { SquadError } from '../../schema/error.ts';
import { GitTrouble, openGit } from '../git/git.ts';
import { branchChanges, branchDiff } from './branch-diff.ts';
import { findChanges } from './work-changes.ts';
import { writeDiff } from './work-diff.ts';
import { takeSnapshot } from './work-snapshot.ts';

/** What runs do to the files of a folder, as git can tell it. */
export function createWorkTree(env: Record<string, string | undefined> = process.env): WorkTree {
  return {
    async snapshot(directory, signal) {
      try {
        return { snapshot: await takeSnapshot(await openGit(directory, env), signal), why: null };
      } catch (trouble) {
        return { snapshot: null, why: wordsOf(trouble, directory) };
      }
    },

    async changes(directory, before, place = {}) {
      try {
        return await findChanges(await openGit(directory, env), directory, before, place);
      } catch (trouble) {
        return { files: null, commits: null, lines: null, notes: [wordsOf(trouble, directory)] };
      }
    },

    async diff(directory, before, options) {
      return available(directory, async () => writeDiff(await openGit(directory, env), before, options));
    },

    commitChanges: (repository, from, to) =>
      available(repository, async () => branchChanges(await openGit(repository, env), from, to)),

    commitDiff: (repository, from, to, { maxBytes }) =>
      available(repository, async () => branchDiff(await openGit(repository, env), from, to, maxBytes)),
  };
}

async function available<T>(place: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (trouble) {
    throw new SquadError('DIFF_UNAVAILABLE', `No diff of ${place}: ${wordsOf(trouble, place)}.`, {
      suggestions: ['`squad show RUN` has what was seen when the run ended.'],
      cause: trouble,
    });
  }
}

/** Evidence never stops a run from starting or ending: whatever goes wrong is told instead. */
function wordsOf(trouble: unknown, folder: string): string {
  if (!existsSync(folder)) return 'the folder is gone';
  if (trouble instanceof GitTrouble) return trouble.message;
  const { code, message } = trouble as NodeJS.ErrnoException;
  return `the folder could not be looked at (${code ?? message})`;
}
