/** The only file that knows Octokit; bundled by itself and loaded when something is first asked of GitHub. */
import { Octokit } from '@octokit/rest';
import type { ApiClient, ApiClientOptions, ApiFailure } from './api-client.ts';

export function createApiClient({ apiUrl, token, limitMs }: ApiClientOptions): ApiClient {
  const quiet = () => {};
  const octokit = new Octokit({
    auth: token,
    baseUrl: apiUrl,
    userAgent: 'squad-mcp',
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

async function settle(call: Promise<{ data: unknown }>): Promise<{ data: unknown } | ApiFailure> {
  try {
    return { data: (await call).data };
  } catch (thrown) {
    const error = thrown as {
      message?: string;
      status?: number;
      response?: { headers: Record<string, unknown>; data: unknown };
    };
    const { response } = error;
    return {
      failed: true,
      // Without an answer its status is made up.
      status: response ? (error.status ?? null) : null,
      headers: Object.fromEntries(
        Object.entries(response?.headers ?? {}).map(([key, value]) => [key, String(value)]),
      ),
      data: response?.data,
      message: error.message ?? String(thrown),
    };
  }
}
