import { UpstreamFault } from '../../wire/upstream/link.ts';
import { Busy } from '../upstream/in-flight.ts';
import type { PooledServer } from '../upstream/pooled-server.ts';
import { Unavailable } from '../upstream/unavailable.ts';
import { ForwardedError, OutOfOrder } from './forwarded-error.ts';

/** What is written down and what the agent is told when a question has no result. `describe`: what it reads when the server is out of order. */
export function failure(
  server: PooledServer,
  error: unknown,
  describe: (server: PooledServer, fault: string) => string,
): { outcome: string; thrown: Error } {
  const { redactor } = server;
  if (error instanceof Unavailable)
    return { outcome: 'unavailable', thrown: new OutOfOrder(describe(server, error.message)) };
  if (error instanceof Busy) return { outcome: 'busy', thrown: new OutOfOrder(busy(server)) };
  if (!(error instanceof UpstreamFault))
    return { outcome: 'failed', thrown: error instanceof Error ? error : new Error(String(error)) };
  const message = redactor.text(error.message);
  switch (error.kind) {
    case 'answer': {
      const { code, message: said, data } = error.error ?? { code: -32603, message, data: undefined };
      return {
        outcome: 'protocol_error',
        thrown: new ForwardedError(code, redactor.text(said), redactor.deep(data)),
      };
    }
    case 'cancelled':
      return { outcome: 'cancelled', thrown: new ForwardedError(-32603, 'The request was taken back.') };
    default: {
      const what =
        server.upstream.condition.health === 'up'
          ? `The server ${server.id} failed in this call: ${message.replace(/\.$/, '')}.`
          : describe(server, message);
      const text = `${what} It is not known whether the call was carried out; it was not repeated.`;
      return { outcome: error.kind === 'timeout' ? 'timeout' : 'unavailable', thrown: new OutOfOrder(text) };
    }
  }
}

const busy = ({ id, timeoutMs }: PooledServer): string =>
  `The server ${id} is busy: no place for one more call came free within ${timeoutMs / 1000} s. It was not asked; make fewer calls at once, or try again later.`;
