import { shellWord } from '../../../src/schema/shell-word.ts';
import type { ApiError } from '../../state/api.ts';
import { Empty } from '../../ui/empty.tsx';
import { Problem } from '../../ui/problem.tsx';
import type { ShownRun } from '../runs/run/shown-run.ts';

interface NoDiffProps {
  run: ShownRun['run'];
  error: ApiError;
  onRetry(): void;
}

/** Nothing went wrong where there is nothing to compare yet, or nothing to compare with. */
export function NoDiff({ run, error, onRetry }: NoDiffProps) {
  const { code, message } = error;
  if (code !== 'DIFF_UNAVAILABLE') return <Problem error={error} onRetry={onRetry} />;
  if (run.startedAt === null)
    return (
      <Empty title={run.endedAt === null ? 'It has not started yet' : 'It never started'}>
        {run.endedAt === null
          ? 'What it changes can be seen here as soon as it is at work.'
          : 'It changed no file.'}
      </Empty>
    );
  if (/not a git repository/.test(message))
    return (
      <Empty title="Its folder is not in a git repository" command="git init">
        Changes are found by comparing with git, which knows nothing of <code>{run.directory}</code>. What it
        did is in its activity and its output. For the runs to come, in the project:
      </Empty>
    );
  if (/\b(is|are) gone\b/.test(message))
    return (
      <Empty title="Its folder is gone" command={`squad show ${shellWord(run.id)}`}>
        <code>{run.directory}</code> was removed since, and no branch with its work is left. What was seen
        when it ended:
      </Empty>
    );
  return <Problem error={error} onRetry={onRetry} />;
}
