import { z } from 'zod';
import { operation } from '../operation.ts';

/**
 * Where the page is and a key that lets one browser in, for the terminal that opens it. A browser has no environment: what is
 * started from the page has that of the terminal in which it was opened last, so that it finds the same programs and keys.
 */
export const openPage = operation({
  name: 'open_page',
  // it is for the terminal that opens the page, whose environment it lends
  route: null,
  agents: null,
  tool: null,
  input: z.strictObject({
    /** At 127.0.0.1, for browsers that do not resolve the page's own name. */
    ip: z.boolean().default(false),
  }),
  output: z.object({
    /** Null: the hub has no port. */
    opened: z.object({ origin: z.string(), key: z.string() }).nullable(),
    warnings: z.array(z.string()),
  }),
  async run({ services, caller }, { ip }) {
    services.hub.lendEnvironment(caller.env);
    const { warnings } = services.hub.status();
    return { opened: await services.hub.openPage(ip), warnings };
  },
});
