import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { GitHostAccess } from '../ports/git-host.ts';
import type { RunFiles } from '../ports/run-files.ts';

/**
 * The GitHub token and API address from the environment of a run's client; the agent itself need not have them. The hub starts
 * reviewers, so the environment of the reviewed run counts too. Throws GITHUB_TOKEN_MISSING.
 */
export async function gitHostAccess(
  runIds: readonly [RunId, ...RunId[]],
  files: Pick<RunFiles, 'variables' | 'environment'>,
): Promise<GitHostAccess> {
  const [env, ...others] = await Promise.all(runIds.map(id => files.environment(id)));
  const kept = await Promise.all(runIds.map(id => files.variables(id)));
  const found = (name: string) =>
    [...kept, env, ...others].map(each => each?.[name]?.trim()).find(value => value);
  const token = found('GITHUB_TOKEN') ?? found('GH_TOKEN');
  if (token === undefined)
    throw missing(
      `Run ${runIds[0]} has no token for GitHub: neither GITHUB_TOKEN nor GH_TOKEN is set for its client`,
    );
  // It becomes part of a header.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw missing('The token in GITHUB_TOKEN has characters that no token can have');
  return { token, apiUrl: found('GITHUB_API_URL') ?? null, env: env ?? {} };
}

const missing = (message: string): SquadError =>
  new SquadError('GITHUB_TOKEN_MISSING', message, {
    suggestions: [
      'The user sets GITHUB_TOKEN where the client or the terminal gets its environment, for example `GITHUB_TOKEN=$(gh auth token)`, and starts the run again. An agent cannot do that.',
    ],
  });
