import { randomUUID } from 'node:crypto';
import { type InitializeRequest, isInitializeRequest } from '@modelcontextprotocol/server';

/** Longer ids get into the way of header limits; then the next hub does not know the client's name. */
const MAX_HANDSHAKE = 1_500;
const ID = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.([\w-]+))?$/;

/**
 * The id of a legacy session carries the client's handshake, so that a hub that never saw the session can go on with it: most
 * clients do not shake hands again when their session is gone. It proves nothing and grants nothing: the token does.
 */
export function newSessionId({ params }: InitializeRequest): string {
  const { protocolVersion, capabilities, clientInfo } = params;
  const { name, version } = clientInfo;
  const handshake = JSON.stringify({ protocolVersion, capabilities, clientInfo: { name, version } });
  const id = randomUUID();
  return handshake.length > MAX_HANDSHAKE ? id : `${id}.${Buffer.from(handshake).toString('base64url')}`;
}

/** Null: no hub of ours has made this id. */
export function readSessionId(id: string): { uuid: string; handshake: InitializeRequest } | null {
  const [, uuid, kept] = ID.exec(id) ?? [];
  if (uuid === undefined) return null;
  const handshake = { jsonrpc: '2.0', id: 0, method: 'initialize', params: kept ? parsed(kept) : UNKNOWN };
  return isInitializeRequest(handshake) ? { uuid, handshake } : null;
}

const UNKNOWN = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'unknown', version: '0' },
};

function parsed(kept: string): unknown {
  try {
    return JSON.parse(Buffer.from(kept, 'base64url').toString());
  } catch {
    return null;
  }
}
