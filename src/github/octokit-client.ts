/** The only file that knows Octokit; bundled by itself and loaded when something is first asked of GitHub. */
import { Octokit } from '@octokit/rest';
import type { ApiClient, ApiClientOptions, ApiFailure } from './api-client.ts';
import { apiFetch } from './api-fetch.ts';

export function createApiClient({ apiUrl, token, limitMs, env }: ApiClientOptions): ApiClient {
  const quiet = () => {};
  const octokit = new Octokit({
    auth: token,
    baseUrl: apiUrl,
    userAgent: 'squad-mcp',
    request: { fetch: apiFetch(env) },
    // Its own log goes to the console; failures are told once, by us.
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  const request = () => ({ signal: AbortSignal.timeout(limitMs) });

  return {
    repository: ({ owner, name }) =>
      settle(octokit.rest.repos.get({ owner, repo: name, request: request() })),
    openPulls: ({ owner, name }, head) =>
      settle(
        octokit.rest.pulls.list({
          ...{ owner, repo: name, head: `${owner}:${head}` },
          ...{ state: 'open', per_page: 20, request: request() },
        }),
      ),
    createPull: ({ owner, name }, { title, body, head, base }) =>
      settle(octokit.rest.pulls.create({ owner, repo: name, title, body, head, base, request: request() })),
    createIssue: ({ owner, name }, { title, body, labels }) =>
      settle(octokit.rest.issues.create({ owner, repo: name, title, body, labels, request: request() })),
  };
}

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  data: unknown;
}

async function settle(call: Promise<Answer>): Promise<{ data: unknown } | ApiFailure> {
  try {
    const answer = await call;
    if (answer.status < 300) return { data: answer.data };
    return failure(answer, 'it has moved');
  } catch (thrown) {
    const { response, message } = thrown as { message?: string; response?: Answer };
    return failure(response, message ?? String(thrown));
  }
}

/** Without an answer the library makes a status up. */
const failure = (answer: Answer | undefined, message: string): ApiFailure => ({
  failed: true,
  status: answer?.status ?? null,
  headers: Object.fromEntries(
    Object.entries(answer?.headers ?? {}).map(([key, value]) => [key, String(value)]),
  ),
  data: answer?.data,
  message,
});
