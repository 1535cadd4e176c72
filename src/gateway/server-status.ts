import type { UpstreamStatus } from '../core/ports/gateway.ts';
import { plainWords } from '../core/visible-text.ts';
import type { DisabledServer, Server } from '../schema/mcp-config.ts';
import type { PinBook } from './upstream/pins.ts';
import type { PooledServer } from './upstream/pooled-server.ts';

/** A server that is in use, or was a moment ago. */
export function pooledStatus({
  id,
  workspace,
  type,
  instance,
  upstream,
  catalogue,
  book,
  users,
  inFlight,
  redactor,
}: PooledServer): UpstreamStatus {
  const { link } = upstream;
  const { health, since, retryAt, fault, lastFault, failures } = upstream.condition;
  return {
    workspace,
    server: id,
    type,
    instance,
    health,
    since,
    upSince: health === 'up' ? since : null,
    retryAt,
    fault,
    lastFault,
    pid: link?.pid ?? null,
    era: link?.era ?? null,
    serverName: link ? redactor.text(plainWords(link.server.name)) : null,
    tools: catalogue.isKnown ? catalogue.listedTools.length : null,
    pending: waiting(book),
    runs: users.size,
    callsInFlight: inFlight.count(),
    calls: upstream.calls,
    failures,
    stray: upstream.stray,
    restarts: Math.max(0, upstream.starts - 1),
    refused: catalogue.refused(),
  };
}

/** A server nobody uses, or that nobody can. */
export function configuredStatus(
  book: PinBook,
  server: Server,
  fault: string | null,
  now: number,
): UpstreamStatus {
  const { pins, key } = book;
  return {
    ...unusedStatus(key, now),
    type: 'command' in server ? 'stdio' : server.type,
    instance: server.instance,
    health: fault === null ? 'idle' : 'unusable',
    fault,
    tools: pins === null ? null : pins.filter(pin => pin.state === 'approved').length,
    pending: waiting(book),
  };
}

/** A server that is wrong in the file. */
export const disabledStatus = (
  workspace: string,
  server: string,
  { type, fault }: DisabledServer,
  now: number,
): UpstreamStatus => ({ ...unusedStatus({ workspace, server }, now), type, health: 'unusable', fault });

function unusedStatus(
  { workspace, server }: { workspace: string; server: string },
  now: number,
): UpstreamStatus {
  return {
    workspace,
    server,
    type: 'stdio',
    instance: 'shared',
    health: 'idle',
    since: now,
    upSince: null,
    retryAt: null,
    fault: null,
    lastFault: null,
    pid: null,
    era: null,
    serverName: null,
    tools: null,
    pending: 0,
    runs: 0,
    callsInFlight: 0,
    calls: 0,
    failures: 0,
    stray: 0,
    restarts: 0,
    refused: [],
  };
}

const waiting = ({ pins }: PinBook): number => (pins ?? []).filter(pin => pin.state === 'pending').length;
