import type { ProgramEnd } from '../process/programs/run-program.ts';
import { SquadError } from '../schema/error.ts';
import type { Protocol } from './remote-url.ts';

/** The part of `src/workspace/git` that is needed here. Git runs no program that the repository configures. */
export interface Git {
  folder: { root: string; commonDir: string };
  run(args: string[], how?: { codes?: readonly number[] }): Promise<Buffer>;
  reach(
    args: string[],
    protocol: Protocol,
    how: { env: Record<string, string>; limitMs: number; maxBytes: number },
  ): Promise<ProgramEnd>;
}

export type OpenGit = (directory: string, env: Record<string, string | undefined>) => Promise<Git>;

export function asGitError(thrown: unknown, folder: string): SquadError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new SquadError('GIT_FAILED', `git could not read ${folder}: ${reason}`, {
    cause: thrown,
    suggestions: ['Run `git status` in that folder to see more. Nothing was sent.'],
  });
}
