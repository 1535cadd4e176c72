import type { Input, Output, RoutedName } from '../../src/operations/operations.ts';
import { shellWord } from '../../src/schema/shell-word.ts';
import { withFolderNames, withoutHeaderHints } from './folder-text.ts';
import { distrustHub, wasHub, whoAnswers } from './hub-proof.ts';
import { requestOf, workspaceHeader } from './request.ts';
import { saved, savedAnswers } from './saved.ts';
import { dropToken, token } from './token.ts';

/** An error of the hub, or no connection to it (`status` is 0). */
export class ApiError extends Error {
  code: string;
  suggestions: string[];
  status: number;
  constructor(code: string, message: string, suggestions: string[] = [], status = 0) {
    super(message);
    this.code = code;
    this.suggestions = suggestions;
    this.status = status;
  }
}

/** Converts anything thrown to an ApiError, which views can show. */
export const asApiError = (thrown: unknown): ApiError =>
  thrown instanceof ApiError ? thrown : new ApiError('PAGE_ERROR', String(thrown));

export interface CallOptions {
  workspace?: string;
  signal?: AbortSignal;
  /** How long the operation may wait, in seconds (default: it returns at once). */
  waitSeconds?: number;
}

export async function call<N extends RoutedName>(
  name: N,
  input?: Input<N>,
  { workspace, signal, waitSeconds }: CallOptions = {},
): Promise<Output<N>> {
  if (saved) return fromFile(name, input);
  const { method, path, body } = requestOf(name, input as object | undefined);
  const headers: Record<string, string> = {};
  if (workspace !== undefined) headers['Squad-Workspace'] = workspaceHeader(workspace);
  if (waitSeconds !== undefined) headers.Prefer = `wait=${waitSeconds}`;
  return (await send(method, path, { body, headers, signal })) as Output<N>;
}

function fromFile<N extends RoutedName>(name: N, input?: Input<N>): Output<N> {
  const answer = savedAnswers.of(name, input ?? {});
  if (answer !== undefined) return answer as Output<N>;
  throw new ApiError('NOT_SAVED', 'Not included in this saved run', [
    `Open it on the machine that ran it: squad open ${shellWord(saved!.run)}`,
  ]);
}

/** A single-use ticket for requests that cannot carry the token in a header: the WebSocket and downloads. */
export async function ticket(
  request:
    | { purpose: 'live' }
    | { purpose: 'download'; run: string; turn: number; stream: 'stdout' | 'stderr' }
    | { purpose: 'export'; run: string },
): Promise<string> {
  const { ticket } = (await send('POST', '/ticket', { body: JSON.stringify(request) })) as { ticket: string };
  return ticket;
}

interface Message {
  body: string | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function send(method: string, path: string, { body, headers, signal }: Message): Promise<unknown> {
  const found = await whoAnswers(token.value ?? '');
  signal?.throwIfAborted();
  if (found === 'nobody') throw unreachable();
  if (found === 'over') {
    dropToken();
    throw new ApiError('SESSION_OVER', 'The session of this tab has ended', [
      'Run `squad open` to start a new one.',
    ]);
  }
  if (found === 'stranger') {
    // If the hub has never answered this tab, its token belongs to an earlier hub and is dropped.
    if (!wasHub()) dropToken();
    throw new ApiError(
      'HUB_UNREACHABLE',
      'The hub that served this page has stopped; another program uses its port',
      ['Run `squad open` to open the web UI of the running hub.'],
    );
  }
  const answer = await fetch(`/api${path}`, {
    method,
    body,
    signal,
    cache: 'no-store',
    headers: {
      Authorization: `Bearer ${token.value}`,
      'Squad-Client': 'page',
      ...(body !== null && { 'Content-Type': 'application/json' }),
      ...headers,
    },
  }).catch(thrown => {
    if (signal?.aborted) throw thrown;
    distrustHub();
    throw unreachable();
  });
  const value = await answer.json().catch(() => null);
  if (answer.ok) return value;
  if (answer.status === 401) dropToken();
  const told = value?.error;
  throw new ApiError(
    told?.code ?? 'HTTP_ERROR',
    withFolderNames(told?.message ?? `The hub responded with status ${answer.status}`),
    withoutHeaderHints(told?.suggestions ?? []),
    answer.status,
  );
}

const unreachable = () =>
  new ApiError('HUB_UNREACHABLE', 'The hub does not answer', ['Run `squad open` to start it.']);
