import { asSquadError, SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import type { CreatedIssue } from '../ports/git-host.ts';
import type { Store } from '../ports/store.ts';
import { forgeAccess } from './git-host-access.ts';
import { eventOf } from './ports.ts';
import type { ProposalPorts } from './proposals.ts';

export interface NewIssue {
  title: string;
  body: string;
  labels: string[];
}

export type CreatedAs = CreatedIssue & { title: string };

/** One after the other, each written down when it is there: a list that is asked for again goes on where it stopped. */
export async function createIssues(run: Run, issues: NewIssue[], ports: ProposalPorts): Promise<CreatedAs[]> {
  const { store, forge, clock } = ports;
  refuseTwins(issues);
  const access = await forgeAccess([run.id], ports.files);
  const repository = await forge.repository(run.worktree?.repository ?? run.directory, access);
  const before = await createdBefore(run, store);
  const made: CreatedAs[] = [];
  for (const issue of issues) {
    const known = before.get(issue.title);
    if (known) made.push(known);
    else
      try {
        const created = { ...(await forge.createIssue(repository, issue, access)), title: issue.title };
        made.push(created);
        await store.commit({ events: [eventOf(clock, run, { type: 'issues.created', issues: [created] })] });
      } catch (thrown) {
        throw stopped(asSquadError(thrown), issues, made);
      }
  }
  return made;
}

/** More than a run can create. */
const EVERY_EVENT = 10_000;

async function createdBefore({ id }: Run, store: Store): Promise<Map<string, CreatedAs>> {
  const events = await store.events({ runId: id, types: ['issues.created'], limit: EVERY_EVENT });
  const issues = events.flatMap(({ body }) => (body.type === 'issues.created' ? body.issues : []));
  return new Map(issues.map(issue => [issue.title, issue]));
}

/** A title is how an issue is known again. */
function refuseTwins(issues: NewIssue[]): void {
  const twin = issues.find(({ title }, i) => issues.findIndex(each => each.title === title) < i);
  if (twin)
    throw new SquadError('INVALID_INPUT', `Two issues have the title "${twin.title}"`, {
      suggestions: ['Give each a title of its own. Nothing was created.'],
    });
}

function stopped(error: SquadError, issues: NewIssue[], made: CreatedAs[]): SquadError {
  const left = issues.slice(made.length).map(({ title }) => title);
  const there = made.map(({ number, title }) => `#${number} "${short(title)}"`).join(', ') || 'none';
  // A store that failed says so after the last issue was created.
  const message =
    left[0] === undefined ? error.message : `"${short(left[0])}" was not created: ${error.message}`;
  return new SquadError(error.code, `${message}. Of ${issues.length} issues these are there now: ${there}`, {
    cause: error,
    suggestions: [
      ...error.suggestions,
      ...(error.code === 'GITHUB_UNREACHABLE'
        ? ['Look on GitHub whether that one is there after all before you ask for it again.']
        : []),
      'Ask again with the same list: what this run has created is not created twice.',
    ],
    details: {
      ...error.details,
      created: made.map(({ number, url, title }) => ({ issue_number: number, issue_url: url, title })),
      not_created: left,
    },
  });
}

const short = (title: string): string =>
  title.length > 60 ? `${title.slice(0, 59).toWellFormed()}…` : title;
