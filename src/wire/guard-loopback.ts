import type { IncomingMessage, ServerResponse } from 'node:http';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';

/** Refuses (403, already answered) what a web page in the user's browser could send: a foreign Host or Origin. */
export function guardLoopback(): (request: IncomingMessage, response: ServerResponse) => boolean {
  const host = localhostHostValidation();
  const origin = localhostOriginValidation();
  return (request, response) => host(request, response) && origin(request, response);
}
