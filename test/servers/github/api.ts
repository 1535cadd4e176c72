import type { BareRepository } from './bare-repository.ts';
import type { GitHubServer, Issue, Pull } from './server.ts';

interface Request {
  method: string;
  url: URL;
  authorization: string | null;
  body: unknown;
}

interface Answer {
  status: number;
  data: unknown;
  headers?: Record<string, string>;
}

/** The routes Squad uses, refused as the real host refuses them. */
export async function answerApi(github: GitHubServer, request: Request): Promise<Answer> {
  const headers = github.scopes && { 'x-oauth-scopes': github.scopes.join(', ') };
  const answer = await route(github, request);
  return { ...answer, headers: { ...headers, ...answer.headers } };
}

async function route(github: GitHubServer, { method, url, authorization, body }: Request): Promise<Answer> {
  if (
    !['token', 'bearer'].some(
      word => authorization?.toLowerCase() === `${word} ${github.token}`.toLowerCase(),
    )
  )
    return { status: 401, data: { message: 'Bad credentials' } };
  const [, owner, name, what] =
    /^\/api\/v3\/repos\/([^/]+)\/([^/]+)(?:\/(pulls|issues))?$/.exec(url.pathname) ?? [];
  const repository = github.repositories.get(`${owner}/${name}`);
  // One that the token may not see is not told from one that is not there.
  if (!repository || (github.scopes && !github.scopes.includes('repo')))
    return { status: 404, data: { message: 'Not Found' }, headers: { 'x-accepted-oauth-scopes': 'repo' } };
  switch (`${method} ${what ?? ''}`) {
    case 'GET ':
      return {
        status: 200,
        data: { full_name: `${owner}/${name}`, default_branch: repository.defaultBranch },
      };
    case 'GET pulls': {
      const head = url.searchParams.get('head');
      const found = github.pulls.filter(pull => pull.state === 'open' && head === `${owner}:${pull.head}`);
      return { status: 200, data: found.map(pull => shown(github, `${owner}/${name}/pull`, pull)) };
    }
    case 'POST pulls':
      return openPull(github, repository, `${owner}/${name}`, body as Omit<Pull, 'number' | 'state'>);
    case 'POST issues': {
      const { title, body: text, labels } = body as Omit<Issue, 'number'>;
      const issue = { number: github.nextNumber(), title, body: text, labels };
      github.issues.push(issue);
      return { status: 201, data: shown(github, `${owner}/${name}/issues`, issue) };
    }
    default:
      return { status: 404, data: { message: 'Not Found' } };
  }
}

async function openPull(
  github: GitHubServer,
  repository: BareRepository,
  fullName: string,
  { title, body, head, base }: Omit<Pull, 'number' | 'state'>,
): Promise<Answer> {
  for (const [field, branch] of Object.entries({ head, base }))
    if (!repository.tip(branch)) return invalid({ resource: 'PullRequest', field, code: 'invalid' });
  if (github.pulls.some(pull => pull.state === 'open' && pull.head === head))
    return invalid(custom(`A pull request already exists for ${fullName.split('/')[0]}:${head}.`));
  if (repository.ahead(head, base) === 0) return invalid(custom(`No commits between ${base} and ${head}`));
  const pull: Pull = { number: github.nextNumber(), title, body, head, base, state: 'open' };
  github.pulls.push(pull);
  return { status: 201, data: shown(github, `${fullName}/pull`, pull) };
}

const custom = (message: string) => ({ resource: 'PullRequest', code: 'custom', message });
const invalid = (error: object): Answer => ({
  status: 422,
  data: { message: 'Validation Failed', errors: [error] },
});

const shown = (github: GitHubServer, path: string, thing: { number: number }) => ({
  ...thing,
  html_url: `${github.origin}/${path}/${thing.number}`,
});
