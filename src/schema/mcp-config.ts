import { z } from 'zod';

/** Squad's own connection, which every run has. A server of this id in a file is that connection and nothing else. */
export const SQUAD_ITSELF = 'squad';

/** The id of another MCP server: short, because it begins the name of each of its tools. */
export const ServerId = z
  .string()
  // No object can have `__proto__` as an ordinary key.
  .regex(/^(?!__proto__$)[A-Za-z0-9_-]{1,40}$/, 'must be 1 to 40 letters, digits, - and _')
  .refine(id => id !== SQUAD_ITSELF, '"squad" is Squad itself');

/** Wherever a file refers to a server. Whether there is one is for the linter: a wrong name must not take the file with it. */
const serverName = z.string().min(1);

/** `["*"]` is all, `[]` none. */
const names = z.array(z.string().min(1));

// Descriptions are for whoever edits the file: the published JSON Schema has them.
const anyServer = {
  tools: names.describe(
    'Tools that may be used at all: the server\'s own names, or {server}__{tool}. ["*"] is all, [] none.',
  ),
  resources: names.default([]).describe('Resources that may be read, by their URIs. ["*"] is all.'),
  prompts: names.default([]).describe('Prompts that may be used, by the server\'s own names. ["*"] is all.'),
  timeout: z
    .number()
    .int()
    .min(100)
    .max(1_800_000)
    .default(60_000)
    .describe('Milliseconds for one request; progress begins them anew, for half an hour at most.'),
  cooldown: z
    .number()
    .int()
    .min(1_000)
    .max(3_600_000)
    .default(60_000)
    .describe('Milliseconds before a server that failed a call, or keeps failing, is tried once more.'),
  instance: z
    .enum(['shared', 'per-agent'])
    .default('shared')
    .describe(
      'One for all runs that may use it, or one for each run: for servers that remember who they talk to.',
    ),
};

export const LocalServer = z
  .strictObject({
    type: z.enum(['local', 'stdio']).default('stdio').describe('A program that Squad starts.'),
    command: z.string().min(1).describe(`The program. \${NAME} stands for a variable, here and below.`),
    args: z.array(z.string()).default([]).describe('Its arguments, as they are: no shell sees them.'),
    env: z
      .record(z.string(), z.string())
      .default({})
      .describe('Its own variables, beside a few every program needs.'),
    cwd: z.string().min(1).optional().describe('Its folder; the workspace unless it says so.'),
    ...anyServer,
  })
  .meta({ title: 'a local server' });
export type LocalServer = z.infer<typeof LocalServer>;

export const RemoteServer = z
  .strictObject({
    type: z.enum(['http', 'sse']).describe('http: Streamable HTTP. sse: the older transport.'),
    url: z.string().min(1).describe(`\${NAME} stands for a variable, here and in headers.`),
    headers: z.record(z.string(), z.string()).default({}).describe('Sent with every request.'),
    ...anyServer,
  })
  .meta({ title: 'a remote server' });
export type RemoteServer = z.infer<typeof RemoteServer>;

export const Server = z.union([LocalServer, RemoteServer]);
export type Server = z.infer<typeof Server>;

const Restriction = z.union([z.strictObject({ include: names }), z.strictObject({ exclude: names })]);
export type Restriction = z.infer<typeof Restriction>;

const oneOrMore = z.union([
  z
    .string()
    .min(1)
    .transform(one => [one]),
  z.array(z.string().min(1)).min(1),
]);

/**
 * Looks at one argument of a call. `allow`: the argument must be there and match one of the patterns. `deny`: it must match
 * none. `under`: it is a path, and stays below one of these folders when every `..` is followed. `*` stands for anything.
 */
export const ArgumentRule = z
  .strictObject({
    role: oneOrMore.default(['*']).describe('Role ids; * is everybody.'),
    server: serverName,
    tool: oneOrMore.default(['*']).describe("The server's own names; * is every tool."),
    argument: z
      .string()
      .min(1)
      .describe('path, or options.target for one inside another; of a list every element counts.'),
    allow: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('It must be there and match one of these. * stands for anything.'),
    deny: z.array(z.string()).min(1).optional().describe('It must match none of these.'),
    under: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('It is a path and stays below one of these folders when every .. is followed.'),
    maxLength: z.number().int().positive().optional().describe('At most this many characters.'),
  })
  .refine(
    rule => [rule.allow, rule.deny, rule.under, rule.maxLength].some(check => check !== undefined),
    'needs one of allow, deny, under, maxLength',
  );
export type ArgumentRule = z.infer<typeof ArgumentRule>;

/** `.squad/mcp-config.json`: which other MCP servers there are, and which role has what of them. */
export const McpConfig = z.strictObject({
  $schema: z.string().optional(),
  servers: z.record(ServerId, Server).describe('Id → server. The id begins the name of each of its tools.'),
  agentServers: z.record(z.string(), z.array(serverName)).default({}).describe('Role id → servers it has.'),
  shared: z.array(serverName).default([]).describe('Servers that every run has, also one without a role.'),
  toolRestrictions: z
    .record(z.string(), z.record(serverName, Restriction))
    .default({})
    .describe(
      'Role id → server → tools; * is everybody. It takes away from what the server offers and never adds.',
    ),
  argumentRules: z
    .array(ArgumentRule)
    .default([])
    .describe('Calls are refused whose arguments break one of these.'),
});
export type McpConfig = z.infer<typeof McpConfig> & {
  /** Servers of the file that are wrong there, by id. They are not among `servers`. */
  disabled?: Readonly<Record<string, DisabledServer>>;
};

export interface DisabledServer {
  type: 'stdio' | 'http' | 'sse';
  /** What is wrong, in a clause. */
  fault: string;
}

/** Servers that one run has to itself, as the file of a subagent names them. */
export const OwnServers = McpConfig.extend({
  /** Milliseconds for the start of those whose time the file gives; by server. */
  startTimeouts: z.record(ServerId, z.number().int().positive()).optional(),
});
export type OwnServers = z.infer<typeof OwnServers>;
