import { z } from 'zod';
import { operation } from './operation.ts';

/**
 * Where the page is, for the terminal that opens it. A browser has no environment: what is started from the page has that of the
 * terminal in which it was opened last, so that it finds the same programs and keys.
 */
export const openPage = operation({
  name: 'open_page',
  tool: null,
  input: z.strictObject({}),
  output: z.object({ url: z.string().nullable(), tokenFile: z.string(), warnings: z.array(z.string()) }),
  async run({ services, caller }) {
    services.hub.lendEnvironment(caller.env);
    const { url, tokenFile, warnings } = services.hub.status();
    return { url, tokenFile, warnings };
  },
});
