import { isDeepStrictEqual } from 'node:util';
import { getNodeValue } from 'jsonc-parser';
import { SquadError } from '../../schema/error.ts';
import { type McpConfig, type Server, ServerId } from '../../schema/mcp-config.ts';
import { problemText } from '../files/json-file.ts';
import { parseJsonTree } from '../files/json-tree.ts';
import { type TranslatedServer, translateServer } from './foreign-server.ts';

/** Where other clients keep a project's servers, below the workspace. */
export const FOREIGN_FILES = ['.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json'];

/** Each is compared with all others. */
const MAX_SERVERS = 500;

export interface ImportedServer extends TranslatedServer {
  file: string;
  /** As that file calls it. */
  name: string;
  id: string;
}

export interface Import {
  servers: ImportedServer[];
  /** What is here already, and as what. */
  there: { file: string; name: string; id: string }[];
  /** What stays where it is, and why. */
  left: { file: string; name: string; reason: string }[];
}

/** The servers of other clients' files in our words, each under an id that nothing here has yet. Throws CONFIG_INVALID. */
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
            ? 'is Squad itself'
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
      suggestions: [`Known are ${FOREIGN_FILES.join(', ')}, and files of the same form.`],
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

/** An agent has Squad's own tools as it is; a second Squad inside would be another user's. */
function isSquad(name: string, server: Server): boolean {
  const words = 'command' in server ? [server.command, ...server.args] : [];
  return name === 'squad' || words.some(word => /(^|\/)squad(-mcp)?(\.cjs)?(@[^/]*)?$/.test(word));
}

function sameAs(server: Server, known: ReadonlyMap<string, Server>): string | null {
  const same = [...known].find(([, other]) => isDeepStrictEqual(startOf(server), startOf(other)));
  return same ? same[0] : null;
}

/** What makes it this server; what may be used of it is our own affair. */
const startOf = (server: Server) =>
  'command' in server
    ? [server.command, server.args, server.env, server.cwd]
    : [server.type, server.url, server.headers];

const LONGEST_ID = 24;

/** The name itself where it can be an id. `GitHub (work)` → `github-work`, and `github-work-2` where there is one. */
function freeId(name: string, known: ReadonlyMap<string, Server>): string {
  if (ServerId.safeParse(name).success && !known.has(name)) return name;
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  const base = /^[a-z]/.test(plain) ? plain : `server-${plain}`.replace(/-$/, '');
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : `-${number}`;
    const id = `${base.slice(0, LONGEST_ID - end.length).replace(/-+$/, '')}${end}`;
    if (!known.has(id) && id !== 'squad') return id;
  }
}

const asRecord = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
