import { within } from '../../base/clock.ts';
import type { ResolvedServer } from '../../core/gateway/variables.ts';
import { plainText } from '../../core/text.ts';
import { type ServiceProcess, startService } from '../../process/programs/service.ts';
import type { ProcessTable } from '../../process/table/process-table.ts';
import { stderrExcerpt } from '../../process/turns/stderr-excerpt.ts';
import { openHttpLink } from '../../wire/upstream/http-link.ts';
import { type Json, type LinkEvents, UpstreamFault, type UpstreamLink } from '../../wire/upstream/link.ts';
import { openStdioLink } from '../../wire/upstream/stdio-link.ts';

const MAX_LINES = 6;
const MAX_LINE_LENGTH = 400;

/** Adds the end of the server's log to the fault, because it usually contains the cause. Shortened to one line. */
export function withLogTail(fault: UpstreamFault, tail: string): UpstreamFault {
  const line = stderrExcerpt(tail, MAX_LINES).join(' ').replace(/\s+/g, ' ').trim();
  const text = line.length > MAX_LINE_LENGTH ? `…${line.slice(-MAX_LINE_LENGTH).toWellFormed()}` : line;
  if (text === '' || fault.kind === 'cancelled' || fault.kind === 'answer') return fault;
  const { kind, message, error, retryAfterMs, cause } = fault;
  return new UpstreamFault(kind, `${message.replace(/(?<![.!?])$/, '.')} It last wrote: ${text}`, {
    ...(error && { error }),
    ...(retryAfterMs !== null && { retryAfterMs }),
    cause,
  });
}

const MAX_KEPT = 256 * 1024;

/** Keeps only the last lines, because the output may be endless. */
export function createTextTail(maxKept = MAX_KEPT) {
  let lines: string[] = [];
  let first = 0;
  let size = 0;
  return {
    add(line: string) {
      const kept = line.slice(-maxKept);
      lines.push(kept);
      size += kept.length + 1;
      while (size > maxKept + 1) {
        size -= (lines[first]?.length ?? 0) + 1;
        lines[first++] = '';
      }
      // Cuts in batches: cutting the list at every line would be slow.
      if (first > 1000) {
        lines = lines.slice(first);
        first = 0;
      }
    },
    text: () => lines.slice(first).join('\n'),
  };
}

interface ConnectOptions {
  table: ProcessTable;
  /** A tag in the environment of each server process, by which a later hub finds the process. */
  nextTag(): string;
  clientInfo: { name: string; version: string };
  /** A line of a server's log, without secrets. */
  onStderr?(server: string, line: string): void;
  /** Called when a process could not be terminated. */
  onSurvivor?(server: string, pid: number, command: string): void;
}

export interface ConnectRequest {
  /** The server's id, used in log lines. */
  id: string;
  server: ResolvedServer;
  events: LinkEvents;
  /** Timeout for the whole start. */
  startTimeoutMs: number;
  signal?: AbortSignal;
  /** Capabilities of the client, for a server that only one client uses; see LinkOptions. */
  capabilities?: Json;
  redact(text: string): string;
}

export interface Connected extends UpstreamLink {
  /** Null for a remote server. */
  pid: number | null;
  /** The end of the server's log, without secrets. */
  stderrTail(): string;
}

export type Connect = (request: ConnectRequest) => Promise<Connected>;

/** Starts or reaches a server and does the handshake. Rejects with an UpstreamFault, and then leaves nothing behind. */
export function createConnect(options: ConnectOptions): Connect {
  return request => {
    const { server } = request;
    return server.kind === 'stdio' ? startAndLink(options, request, server) : reach(options, request, server);
  };
}

async function reach(
  { clientInfo }: ConnectOptions,
  request: ConnectRequest,
  server: Extract<ResolvedServer, { url: string }>,
): Promise<Connected> {
  const link = await openHttpLink({ ...linkOptions(request), ...server, clientInfo });
  return { ...link, pid: null, stderrTail: () => '' };
}

async function startAndLink(
  options: ConnectOptions,
  request: ConnectRequest,
  { command, args, cwd, env }: Extract<ResolvedServer, { command: string }>,
): Promise<Connected> {
  const tail = createTextTail();
  const service = await startService({
    table: options.table,
    argv: [command, ...args],
    cwd,
    env,
    tag: options.nextTag(),
    onStderrLine(line) {
      // Escape sequences can split a secret, and are removed when the line is printed.
      const shown = request.redact(plainText(line));
      tail.add(shown);
      options.onStderr?.(request.id, shown);
    },
  }).catch((error: Error) => {
    throw new UpstreamFault('start', error.message, { cause: error });
  });
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= end(service, options, request.id);
    return stopped;
  };

  try {
    const { clientInfo } = options;
    const { stdin, stdout } = service;
    const ended = endAfterLog(service);
    const link = await openStdioLink({ ...linkOptions(request), clientInfo, stdin, stdout, ended });
    // The process is terminated in every case in which the link ends.
    void link.closed.then(stop);
    const close = async () => {
      await link.close();
      await stop();
    };
    return { ...link, close, pid: service.pid, stderrTail: tail.text };
  } catch (fault) {
    await stop();
    throw fault instanceof UpstreamFault ? withLogTail(reasonOf(fault, request), tail.text()) : fault;
  }
}

const LOG_TIMEOUT_MS = 100;

/** Resolves after the process has ended and its log was read, because the log contains the cause. */
async function endAfterLog({ ended, logEnd }: ServiceProcess): ServiceProcess['ended'] {
  const end = await ended;
  await within(logEnd, LOG_TIMEOUT_MS);
  return end;
}

const linkOptions = ({ events, startTimeoutMs, signal, capabilities }: ConnectRequest) => ({
  events,
  startTimeoutMs,
  ...(signal && { signal }),
  ...(capabilities && { capabilities }),
});

async function end(service: ServiceProcess, { onSurvivor }: ConnectOptions, id: string): Promise<void> {
  const survivors = await service.stop().catch(() => []);
  for (const { pid, command } of survivors) onSurvivor?.(id, pid, command);
}

/** For a start that was given up, the reason is reported, not how the process ended. */
function reasonOf(fault: UpstreamFault, { signal }: ConnectRequest): UpstreamFault {
  const why: unknown = fault.kind === 'cancelled' && signal?.aborted ? signal.reason : null;
  return why instanceof UpstreamFault ? why : fault;
}
