import { isDeepStrictEqual } from 'node:util';
import { getNodeValue } from 'jsonc-parser';
import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { literalSecrets, malformedVariable, namesIn } from '../../core/gateway/variables.ts';
import { SquadError } from '../../schema/error.ts';
import { type McpConfig, Server, ServerId } from '../../schema/mcp-config.ts';
import { parseJsonTree, problemText } from '../files/json-file.ts';

/** A server in the format of other MCP clients. Unknown fields are ignored. */
const ForeignServer = z.looseObject({
  type: z.string().optional(),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  envFile: z.string().optional(),
  cwd: z.string().min(1).optional(),
  url: z.string().min(1).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  disabled: z.boolean().optional(),
});

type ServerEntry = Record<string, string | string[] | Record<string, string>>;

interface TranslatedServer {
  /** The server as JSON for Squad's file. `server` is the same, parsed. */
  entry: ServerEntry;
  server: Server;
  /** Environment variables that the user has to set. */
  variables: string[];
  /** Notes for the user, for example about settings that could not be imported or a secret in the file. */
  notes: string[];
}

/** Converts a server of another client to Squad's format, or says why it cannot be imported. */
function translateServer(
  foreign: unknown,
  /** Descriptions, by id, of the inputs that the other client asks its user for. */
  inputs: ReadonlyMap<string, string>,
): TranslatedServer | { reason: string } {
  const parsed = ForeignServer.safeParse(foreign);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { reason: `${issue?.path.join('.') || 'it'}: ${issue?.message}` };
  }
  const given = parsed.data;
  if (given.disabled) return { reason: 'it is disabled in that file' };
  const notes = new Set<string>();
  const translate = (text: string) => translateText(text, inputs, note => notes.add(note));
  const entry = entryOf(given, translate);
  if (!entry) return { reason: 'it has neither a command nor a url' };
  const checked = Server.safeParse(entry);
  if (!checked.success) return { reason: `type ${JSON.stringify(given.type)} is not known` };
  const server = checked.data;
  const texts = JSON.stringify(entry);
  const strange = malformedVariable(texts);
  if (strange !== null)
    return { reason: `${strange} works only in the program that the file was written for` };
  if (given.envFile)
    notes.add(`its variables in ${given.envFile} are not imported: set them, and name them in "env"`);
  const secrets = literalSecrets(server).map(({ name }) => name);
  if (secrets.length > 0)
    notes.add(`contains a secret (${[...new Set(secrets)].join(', ')}); use a variable instead: \${NAME}`);
  const variables = [...new Set(namesIn(texts))].filter(name => !ROOTS.has(name)).sort();
  return { entry, server, variables, notes: [...notes] };
}

const ROOTS: ReadonlySet<string> = new Set(['WORKSPACE_ROOT', 'SQUAD_ROOT']);

function entryOf(
  { type, command, args = [], env = {}, cwd, url, headers = {} }: z.output<typeof ForeignServer>,
  translate: (text: string) => string,
): ServerEntry | null {
  const all = (record: Record<string, string | number | boolean | null>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(record).flatMap(([name, value]) =>
        value === null ? [] : [[name, translate(String(value))]],
      ),
    );
  if (command !== undefined)
    return {
      command: translate(command),
      ...(args.length > 0 && { args: args.map(translate) }),
      ...(Object.keys(env).length > 0 && { env: all(env) }),
      // Left out if the server starts in that folder anyway.
      ...(cwd !== undefined && !/^\$\{workspaceFolder\}\/?$/.test(cwd) && { cwd: translate(cwd) }),
      tools: ['*'],
    };
  if (url === undefined) return null;
  return {
    type: type === undefined || /^streamable-?http$/i.test(type) ? 'http' : type,
    url: translate(url),
    ...(Object.keys(headers).length > 0 && { headers: all(headers) }),
    tools: ['*'],
  };
}

/**
 * Turns `${env:X}`, `${input:x}`, `${workspaceFolder}` and similar placeholders into `${X}`. Unknown placeholders
 * stay unchanged and do not count as variables.
 */
function translateText(
  text: string,
  inputs: ReadonlyMap<string, string>,
  note: (text: string) => void,
): string {
  return text.replace(/\$\{([^{}]*)\}/g, (whole, inside: string) => {
    const [, kind, rest] = /^(env|input):(.+)$/.exec(inside) ?? [];
    const [, name, fallback] = /^(\w+):-(.*)$/s.exec(inside) ?? [];
    if (kind === 'env') return `\${${rest}}`;
    if (kind === 'input') {
      const variable = variableFor(rest!);
      note(`asks for ${inputs.get(rest!) ?? rest}: set ${variable}`);
      return `\${${variable}}`;
    }
    if (name) {
      note(`${name} has the default ${JSON.stringify(fallback)} in that file, but Squad needs it to be set`);
      return `\${${name}}`;
    }
    return PREDEFINED[inside] ?? whole;
  });
}

const PREDEFINED: Partial<Record<string, string>> = {
  workspaceFolder: `\${WORKSPACE_ROOT}`,
  userHome: `\${HOME}`,
  pathSeparator: '/',
  '/': '/',
};

/** Turns `github-token` into `GITHUB_TOKEN`. */
const variableFor = (input: string): string =>
  input
    .toUpperCase()
    .replace(/[^A-Z0-9_]/g, '_')
    .replace(/^(?=\d)/, '_');

/** Files in a workspace where other clients configure MCP servers. */
export const FOREIGN_FILES = ['.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json'];

/** Limit of servers, because each is compared with all others. */
const MAX_SERVERS = 500;

export interface ImportedServer extends TranslatedServer {
  file: string;
  /** Name of the server in the other client's file. */
  name: string;
  id: string;
}

export interface Import {
  servers: ImportedServer[];
  /** Servers that exist in Squad's file already, each with its id there. */
  there: { file: string; name: string; id: string }[];
  /** Servers that are not imported, with the reason. */
  left: { file: string; name: string; reason: string }[];
}

/** Converts the servers of other clients' files to Squad's format, each with a new id. Throws CONFIG_INVALID. */
export function importServers(
  files: readonly { file: string; text: string }[],
  { servers: existing }: Pick<McpConfig, 'servers'>,
): Import {
  const known = new Map<string, Server>(Object.entries(existing));
  const result: Import = { servers: [], there: [], left: [] };
  for (const { file, text } of files) {
    const { servers, inputs } = contentOf(file, text);
    for (const [name, foreign] of Object.entries(servers)) {
      const translated = translateServer(foreign, inputs);
      const reason =
        'reason' in translated
          ? translated.reason
          : isSquad(name, translated.server)
            ? 'it is Squad itself'
            : null;
      if (reason !== null || 'reason' in translated) {
        result.left.push({ file, name, reason: reason! });
        continue;
      }
      const same = sameAs(translated.server, known);
      if (same !== null) result.there.push({ file, name, id: same });
      else {
        const id = freeId(name, known);
        known.set(id, translated.server);
        result.servers.push({ file, name, id, ...translated });
      }
    }
  }
  return result;
}

function contentOf(
  file: string,
  text: string,
): { servers: Record<string, unknown>; inputs: Map<string, string> } {
  const parsed = parseJsonTree(text, true);
  if ('problems' in parsed)
    throw new SquadError('CONFIG_INVALID', problemText(file, text, parsed.problems[0]));
  const content = asRecord(getNodeValue(parsed.tree));
  const servers = content && asRecord(content.mcpServers ?? content.servers);
  if (!servers)
    throw new SquadError('CONFIG_INVALID', `${file} has neither "mcpServers" nor "servers".`, {
      suggestions: [`Squad can import ${FOREIGN_FILES.join(', ')}, and other files with the same structure.`],
    });
  if (Object.keys(servers).length > MAX_SERVERS)
    throw new SquadError(
      'CONFIG_INVALID',
      `${file} has ${Object.keys(servers).length} servers; at most ${MAX_SERVERS} are read.`,
      { suggestions: ['Keep the servers you want, then try again.'] },
    );
  const inputs = Array.isArray(content.inputs) ? content.inputs.map(asRecord) : [];
  return {
    servers,
    inputs: new Map(
      inputs.flatMap(input =>
        typeof input?.id === 'string' && typeof input.description === 'string'
          ? [[input.id, input.description]]
          : [],
      ),
    ),
  };
}

/** Squad itself is not imported: agents have its tools anyway, and a second Squad would belong to another user. */
function isSquad(name: string, server: Server): boolean {
  const words = 'command' in server ? [server.command, ...server.args] : [];
  return name === 'squad' || words.some(word => /(^|\/)squad(-mcp)?(\.cjs)?(@[^/]*)?$/.test(word));
}

function sameAs(server: Server, known: ReadonlyMap<string, Server>): string | null {
  const same = [...known].find(([, other]) => isDeepStrictEqual(startOf(server), startOf(other)));
  return same ? same[0] : null;
}

/** Fields that identify a server. Lists of tools are left out, because only Squad has them. */
const startOf = (server: Server) =>
  'command' in server
    ? [server.command, server.args, server.env, server.cwd]
    : [server.type, server.url, server.headers];

const MAX_ID_LENGTH = 24;

/**
 * Uses the name itself if it is a valid id. `GitHub (work)` becomes `github-work`, or `github-work-2` if that exists.
 */
function freeId(name: string, known: ReadonlyMap<string, Server>): string {
  if (ServerId.safeParse(name).success && !known.has(name)) return name;
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  const base = /^[a-z]/.test(plain) ? plain : `server-${plain}`.replace(/-$/, '');
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : `-${number}`;
    const id = `${base.slice(0, MAX_ID_LENGTH - end.length).replace(/-+$/, '')}${end}`;
    if (!known.has(id) && id !== 'squad') return id;
  }
}

const asRecord = (value: unknown): Record<string, unknown> | null => (isObject(value) ? value : null);
