import type { Run } from '../../schema/run.ts';
import type { PullRequest } from '../ports/git-host.ts';
import { eventOf, type ReviewPorts, runNow } from './ports.ts';
import { closing } from './rounds.ts';

/** Records an open pull request. A reviewer's pull request ends its review. */
export async function pullRequestOpened(
  run: Run,
  pr: PullRequest & { branch: string },
  intentsDone: string[],
  ports: Pick<ReviewPorts, 'clock' | 'store' | 'checkpoint'> & {
    runner: Pick<ReviewPorts['runner'], 'current'>;
  },
): Promise<void> {
  const { store, clock } = ports;
  const coder = (run.reviewOf && (await runNow(ports, run.reviewOf))) ?? run;
  const [review] = await store.reviews({ reviewerId: run.id, isOpen: true, limit: 1 });
  const how = { outcome: 'pull_request', reason: pr.url } as const;
  const over = review ? closing(review, how, coder, clock) : { events: [] };
  const opened = eventOf(clock, coder, { type: 'pull_request.opened', ...pr });
  await store.commit({ ...over, intentsDone, events: [opened, ...over.events] });
  ports.checkpoint('create_pull_request:5');
}
