import type { Greeting } from './greeting.ts';
import { UpstreamFault, type UpstreamLink } from './link.ts';
import type { Multiplexer } from './multiplexer.ts';

export const refusedGreeting = (fault: UpstreamFault): UpstreamFault =>
  new UpstreamFault('start', `The server refused to begin: ${fault.message}`, { cause: fault });

export function toLink(mux: Multiplexer, greeting: Greeting, close: () => Promise<void>): UpstreamLink {
  return {
    era: greeting.era,
    server: greeting.server,
    capabilities: greeting.capabilities,
    request: (method, params, request) => mux.request(method, params, request),
    inFlight: () => mux.inFlight,
    closed: mux.closed,
    close,
  };
}
