import { z } from 'zod';

/** Id of Squad's own MCP server, which every run has. A config file cannot define another server with this id. */
export const SQUAD_ITSELF = 'squad';

/** Id of an MCP server. Short, because it is the prefix of its tools' names. */
export const ServerId = z
  .string()
  // `__proto__` is excluded, because it cannot be an ordinary key of an object.
  .regex(/^(?!__proto__$)[A-Za-z0-9_-]{1,40}$/, 'must be 1 to 40 letters, digits, - and _')
  .refine(id => id !== SQUAD_ITSELF, '"squad" is Squad itself');

/**
 * A reference to a server. Only the linter checks that the server exists: a wrong name must not make the whole file
 * invalid.
 */
const serverName = z.string().min(1);

/** List of names: `["*"]` means all, `[]` none. */
const names = z.array(z.string().min(1));

// The descriptions are part of the published JSON Schema, for people who edit the file.
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
    .describe(
      'Timeout of one request in milliseconds. Each progress message restarts it, up to half an hour in total.',
    ),
  cooldown: z
    .number()
    .int()
    .min(1_000)
    .max(3_600_000)
    .default(60_000)
    .describe('Milliseconds before Squad tries a failed server again.'),
  instance: z
    .enum(['shared', 'per-agent'])
    .default('shared')
    .describe(
      'shared: one for all runs. per-agent: one for each run, for servers that keep state about their client.',
    ),
};

export const LocalServer = z
  .strictObject({
    type: z.enum(['local', 'stdio']).default('stdio').describe('A program that Squad starts.'),
    command: z
      .string()
      .min(1)
      .describe(`Program to start. \${NAME} is replaced by a variable, here and in the fields below.`),
    args: z.array(z.string()).default([]).describe('Arguments of the program. No shell is used.'),
    env: z
      .record(z.string(), z.string())
      .default({})
      .describe('Environment variables of the program, in addition to a few that every program needs.'),
    cwd: z.string().min(1).optional().describe('Working folder of the program (default: the workspace).'),
    ...anyServer,
  })
  .meta({ title: 'a local server' });
export type LocalServer = z.infer<typeof LocalServer>;

export const RemoteServer = z
  .strictObject({
    type: z.enum(['http', 'sse']).describe('http: Streamable HTTP. sse: the older transport.'),
    url: z
      .string()
      .min(1)
      .describe(`URL of the server. \${NAME} is replaced by a variable, here and in headers.`),
    headers: z
      .record(z.string(), z.string())
      .default({})
      .describe('HTTP headers that are sent with every request.'),
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
 * Checks one argument of a call. `allow`: the argument must be present and match one of the patterns. `deny`: it must match none.
 * `under`: it must be a path below one of these folders after resolving every `..`. `*` matches anything.
 */
export const ArgumentRule = z
  .strictObject({
    role: oneOrMore.default(['*']).describe('Ids of roles, or * for all roles.'),
    server: serverName,
    tool: oneOrMore.default(['*']).describe("The server's own names; * is every tool."),
    argument: z
      .string()
      .min(1)
      .describe(
        'Name of the argument, or options.target for a nested one. Every element of a list is checked.',
      ),
    allow: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('The argument must be present and match one of these. * matches anything.'),
    deny: z.array(z.string()).min(1).optional().describe('The argument must match none of these.'),
    under: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('The argument must be a path below one of these folders, after resolving every "..".'),
    maxLength: z.number().int().positive().optional().describe('Maximum number of characters.'),
  })
  .refine(
    rule => [rule.allow, rule.deny, rule.under, rule.maxLength].some(check => check !== undefined),
    'needs one of allow, deny, under, maxLength',
  );
export type ArgumentRule = z.infer<typeof ArgumentRule>;

/** `.squad/mcp-config.json`: MCP servers of the gateway, and which role has which. */
export const McpConfig = z.strictObject({
  $schema: z.string().optional(),
  servers: z
    .record(ServerId, Server)
    .describe("Servers by id. The id is the prefix of the server's tool names."),
  agentServers: z
    .record(z.string(), z.array(serverName))
    .default({})
    .describe('Servers of each role, by role id.'),
  shared: z.array(serverName).default([]).describe('Servers for every run, also without a role.'),
  toolRestrictions: z
    .record(z.string(), z.record(serverName, Restriction))
    .default({})
    .describe(
      'Tools by role id and server, with * for all roles. Restrictions only remove tools, they never add any.',
    ),
  argumentRules: z
    .array(ArgumentRule)
    .default([])
    .describe('Calls whose arguments violate one of these rules are refused.'),
});
export type McpConfig = z.infer<typeof McpConfig> & {
  /** Invalid servers of the file, by id. They are missing in `servers`. */
  disabled?: Readonly<Record<string, DisabledServer>>;
};

export interface DisabledServer {
  type: 'stdio' | 'http' | 'sse';
  /** Description of the error, as a clause. */
  fault: string;
}

/** Servers of one run: from a subagent file, or from an editor. */
export const OwnServers = McpConfig.extend({
  /** The run has the servers of its workspace too. */
  isAdded: z.literal(true).optional(),
  /** Start timeouts in milliseconds by server, for servers whose file sets one. */
  startTimeouts: z.record(ServerId, z.number().int().positive()).optional(),
});
export type OwnServers = z.infer<typeof OwnServers>;
