import { asSquadError } from '../../schema/error.ts';

/** An agent that commits that often between two looks is not one to wait for. */
const TRIES = 5;

/** Prepares and applies anew as long as the agent at work in the same tree is faster. */
export async function whileMoving<T>(act: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await act();
    } catch (thrown) {
      if (tried === TRIES || asSquadError(thrown).code !== 'BRANCH_MOVED') throw thrown;
    }
  }
}
