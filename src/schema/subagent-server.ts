import { z } from 'zod';
import { ADDRESS, ADDRESS_SAID, headers, names, plain } from './subagent-fields.ts';

const VARIABLE_NAME = /^[^=\0]+$/;

const ServerFields = z.strictObject({
  type: z
    .enum(['stdio', 'http', 'sse', 'builtin'])
    .optional()
    .describe('stdio: a program that is started. http, sse: one that runs. builtin: not there in Squad.'),
  command: z.string().min(1).optional().describe(`The program. \${NAME} stands for a variable.`),
  args: z.array(plain).optional().describe('Its arguments, as they are: no shell sees them.'),
  env: z
    .record(z.string().regex(VARIABLE_NAME, 'is not a name that a variable can have'), plain)
    .optional()
    .describe('Its own variables, beside those of the client.'),
  url: z.string().regex(ADDRESS, ADDRESS_SAID).optional().describe('Where it is: http or https.'),
  headers: headers.optional().describe('Sent with every request.'),
  timeout: z
    .number()
    .positive()
    .optional()
    .meta({ minimum: 0.1, maximum: 1800, description: 'Seconds for one call: 0.1 to 1800.' }),
  enabledTools: names.optional().describe('Only these of its tools.'),
  disabledTools: names.optional().describe('All of its tools but these.'),
  toolFilter: z
    .enum(['all', 'whitelist', 'blacklist'])
    .optional()
    .describe('all: both lists have no effect.'),
});

/** What of that it needs; for editors, since the reader says it in better words. */
export const SubagentServer = ServerFields.meta({
  anyOf: [
    { required: ['command'], properties: { type: { enum: ['stdio'] } } },
    { required: ['url'], properties: { type: { enum: ['http', 'sse'] } } },
    { required: ['type'], properties: { type: { enum: ['builtin'] } } },
  ],
});
export type SubagentServer = z.output<typeof SubagentServer>;
