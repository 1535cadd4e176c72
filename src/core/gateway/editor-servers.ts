import { z } from 'zod';
import { type McpConfig, type OwnServers, type Server, ServerId } from '../../schema/mcp-config.ts';
import { looksSecretName, urlSecrets } from './variables.ts';

const Text = z.string().max(32_000);
const anyServer = { name: z.string().min(1).max(200) };

/** An MCP server that an editor has configured for its agents. */
export const EditorServer = z.union([
  z.strictObject({
    ...anyServer,
    command: Text.min(1),
    args: z.array(Text).max(1_000),
    env: z.record(z.string(), Text),
  }),
  z.strictObject({
    ...anyServer,
    type: z.enum(['http', 'sse']),
    url: Text.min(1),
    headers: z.record(z.string(), Text),
  }),
]);
export type EditorServer = z.infer<typeof EditorServer>;

export interface EditorServers {
  /** The servers, with variables in place of values that may be secret. */
  config: OwnServers;
  /** Values of the variables, which only the gateway gets. */
  values: Record<string, string>;
}

const PREFIX = 'SQUAD_EDITOR_';

/** True for a variable that belongs to a server of the editor. No other server may get its value. */
export const isEditorVariable = (name: string): boolean => name.startsWith(PREFIX);

/**
 * Converts the servers of an editor for one run. The definitions are stored with the run, so values that may be secret
 * become variables: all environment variables and headers, and arguments and URLs that look like it.
 */
export function editorServers(given: readonly EditorServer[]): EditorServers | null {
  if (given.length === 0) return null;
  const values: Record<string, string> = {};
  const hide = (value: string): string => {
    // A variable without a value counts as missing.
    if (value === '') return value;
    const name = `${PREFIX}${Object.keys(values).length}`;
    values[name] = value;
    return `\${${name}}`;
  };
  const hideAll = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, hide(value)]));
  // In an editor's configuration `${…}` is plain text, not one of Squad's variables.
  const plain = (value: string) => (value.includes('${') ? hide(value) : value);
  const servers: Record<string, Server> = {};
  for (const server of given) {
    const id = freeId(server.name, servers);
    servers[id] =
      'command' in server
        ? {
            ...ALL,
            type: 'stdio',
            command: plain(server.command),
            args: server.args.map((arg, at) =>
              mayBeSecret(arg, server.args[at - 1]) ? hide(arg) : plain(arg),
            ),
            env: hideAll(server.env),
          }
        : {
            ...ALL,
            type: server.type,
            url: urlSecrets(server.url).length > 0 ? hide(server.url) : plain(server.url),
            headers: hideAll(server.headers),
          };
  }
  const config = {
    ...{ servers, agentServers: {}, shared: Object.keys(servers), toolRestrictions: {}, argumentRules: [] },
    isAdded: true as const,
  };
  return { config, values };
}

/** Each run gets the editor's server with everything that it offers, and an instance of its own. */
const ALL = {
  ...{ tools: ['*'], resources: ['*'], prompts: ['*'] },
  ...{ timeout: 60_000, cooldown: 60_000, instance: 'per-agent' as const },
};

const mayBeSecret = (argument: string, before: string | undefined): boolean =>
  urlSecrets(argument).length > 0 ||
  (/^--?\w[\w-]*=/.test(argument) && looksSecretName(argument.split('=', 1)[0]!)) ||
  (before !== undefined && /^--?\w[\w-]*$/.test(before) && looksSecretName(before));

const MAX_ID_LENGTH = 40;

/** Editors allow any name. An id consists of letters, digits, `-` and `_`. */
function freeId(name: string, taken: Record<string, unknown>): string {
  const plain = name
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, MAX_ID_LENGTH - 4);
  const id = ServerId.safeParse(plain).success ? plain : `editor-${plain}`.slice(0, MAX_ID_LENGTH - 4);
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? id : `${id}-${n}`;
    if (!Object.hasOwn(taken, candidate)) return candidate;
  }
}

/**
 * The servers of the workspace and those of the editor. If both have a server of the same name, the run gets the
 * workspace's, whose restrictions must hold.
 */
export function withEditorServers(config: McpConfig | null, added: OwnServers): McpConfig {
  const base = config ?? { ...added, servers: {}, shared: [] };
  const isFree = (id: string) => !Object.hasOwn(base.servers, id) && !Object.hasOwn(base.disabled ?? {}, id);
  const fresh = Object.entries(added.servers).filter(([id]) => isFree(id));
  return {
    ...base,
    servers: { ...base.servers, ...Object.fromEntries(fresh) },
    shared: [...base.shared, ...fresh.map(([id]) => id)],
  };
}
