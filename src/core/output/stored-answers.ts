import type { RunFiles } from '../ports/run-files.ts';
import type { Store } from '../ports/store.ts';

/** Longest answer that is stored in the database. Output stays in files. */
const MAX_STORED_LENGTH = 256 * 1024;
const CUT = '\n… (the rest is at the hub of the run)';

/**
 * The files of runs, with answers that are also in the database, so that other hubs can show the answer of a run while
 * its hub is not running.
 */
export function withStoredAnswers<F extends RunFiles>(
  files: F,
  store: Pick<Store, 'saveAnswer' | 'answer'>,
  warn: (message: string, cause: unknown) => void,
): F {
  return {
    ...files,
    saveAnswer: async (id, answer) => {
      await files.saveAnswer(id, answer);
      const isCut = answer !== null && answer.length > MAX_STORED_LENGTH;
      const stored = isCut ? answer.slice(0, MAX_STORED_LENGTH).toWellFormed() + CUT : answer;
      await store
        .saveAnswer(id, stored)
        .catch(thrown => warn(`The answer of ${id} is not in the database`, thrown));
    },
    answer: async id => (await files.answer(id)) ?? store.answer(id),
  };
}
