import {
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  type ProtocolError,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server';
import { invalidParams } from '../face/protocol-errors.ts';
import { MODERN_REVISION } from '../http/envelope.ts';
import type { Refusal } from './read-message.ts';

/**
 * What the SDK lets pass on a stream. A request without a version opens a connection of the older revisions, which then stays one;
 * but `server/discover` is none of theirs, so a client that forgets its version there may go on as what it is. And once a
 * connection is of the current revision, the version of a request is not looked at any more.
 */
export function versionMistake(message: JSONRPCMessage): Refusal | null {
  if (!('method' in message && 'id' in message)) return null;
  const version = message.params?._meta?.[PROTOCOL_VERSION_META_KEY];
  if (version === undefined)
    return message.method === 'server/discover'
      ? refusal(message.id, invalidParams(`Invalid params: no ${PROTOCOL_VERSION_META_KEY} in _meta`))
      : null;
  if (typeof version !== 'string' || version === MODERN_REVISION) return null;
  return refusal(
    message.id,
    new UnsupportedProtocolVersionError({ supported: [MODERN_REVISION], requested: version }),
  );
}

const refusal = (id: string | number, { code, message, data }: ProtocolError): Refusal => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data !== undefined && { data }) },
});
