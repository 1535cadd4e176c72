import { z } from 'zod';

/** The id of another MCP server: short, because it begins the name of each of its tools, and without underscores, because two of them end it there. */
export const ServerId = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,23}$/, 'must be 1 to 24 of a-z, 0-9 and -, beginning with a letter')
  .refine(id => id !== 'squad', '"squad" is Squad itself');

/** `["*"]` is all, `[]` none. */
const names = z.array(z.string().min(1));

const anyServer = {
  /** In the server's own names. */
  tools: names,
  resources: names.default([]),
  prompts: names.default([]),
  /** Milliseconds for one request; progress begins them anew. */
  timeout: z.number().int().min(100).max(1_800_000).default(60_000),
  /** Milliseconds before a server that keeps failing is tried once more. */
  cooldown: z.number().int().min(1_000).max(3_600_000).default(60_000),
  /** One for all runs that may use it, or one for each run: for servers that remember who they talk to. */
  instance: z.enum(['shared', 'per-agent']).default('shared'),
};

export const LocalServer = z.strictObject({
  type: z.enum(['local', 'stdio']).default('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  /** The workspace unless it says so. */
  cwd: z.string().min(1).optional(),
  ...anyServer,
});
export type LocalServer = z.infer<typeof LocalServer>;

export const RemoteServer = z.strictObject({
  type: z.enum(['http', 'sse']),
  url: z.string().min(1),
  headers: z.record(z.string(), z.string()).default({}),
  ...anyServer,
});
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
    /** Role ids; `*` is everybody. */
    role: oneOrMore.default(['*']),
    server: ServerId,
    /** In the server's own names; `*` is every tool. */
    tool: oneOrMore.default(['*']),
    /** `path`, or `options.target` for one inside another; of a list every element counts. */
    argument: z.string().min(1),
    allow: z.array(z.string()).min(1).optional(),
    deny: z.array(z.string()).min(1).optional(),
    under: z.array(z.string().min(1)).min(1).optional(),
    maxLength: z.number().int().positive().optional(),
  })
  .refine(
    rule => [rule.allow, rule.deny, rule.under, rule.maxLength].some(check => check !== undefined),
    'needs one of allow, deny, under, maxLength',
  );
export type ArgumentRule = z.infer<typeof ArgumentRule>;

/** `.squad/mcp-config.json`: which other MCP servers there are, and which role has what of them. */
export const McpConfig = z.strictObject({
  $schema: z.string().optional(),
  servers: z.record(ServerId, Server),
  /** Role id → servers. */
  agentServers: z.record(z.string(), z.array(ServerId)).default({}),
  /** Servers that every run has, also one without a role. */
  shared: z.array(ServerId).default([]),
  /** Role id → server → tools. It takes away from what the server offers and never adds. */
  toolRestrictions: z.record(z.string(), z.record(ServerId, Restriction)).default({}),
  argumentRules: z.array(ArgumentRule).default([]),
});
export type McpConfig = z.infer<typeof McpConfig>;
