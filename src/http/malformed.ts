import { maxHeaderSize, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Refusal, refuseOnSocket } from './refusal.ts';

/**
 * Answers a request that Node could not parse. Node's own answer is a bare status line, and every other refusal of the port
 * has a code. `response` is the last one that began on this connection.
 */
export function refuseMalformed(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex,
  response: ServerResponse | undefined,
): void {
  // After a part of another answer nothing could tell where this one begins.
  const isInAnswer = response?.headersSent && !response.writableFinished;
  if (!socket.writable || isInAnswer) return void socket.destroy();
  refuseOnSocket(socket, REFUSALS[code] ?? NOT_HTTP);
}

const NOT_HTTP: Refusal = {
  status: 400,
  code: 'INVALID_INPUT',
  message: 'This is not a valid HTTP/1.1 request',
};
const REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'MESSAGE_TOO_LARGE',
    message: `The address and headers of a request may have ${maxHeaderSize} bytes together`,
    suggestions: ['Send long values in the body of a POST request.'],
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'MESSAGE_TOO_LARGE',
    message: 'The chunk extensions of the request body are too long',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'TIMEOUT',
    message: 'The request took too long to arrive',
    suggestions: ['Send the whole request at once.'],
  },
};
