import { z } from 'zod';
import { malformedVariable, namesIn } from '../../core/gateway/substitution.ts';
import { literalSecrets } from '../../core/gateway/variables.ts';
import { Server } from '../../schema/mcp-config.ts';

/** A server as other clients write it down; what they have beside this is theirs. */
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

/** As it stands in the file. */
type ServerEntry = Record<string, string | string[] | Record<string, string>>;

export interface TranslatedServer {
  /** As it is to stand in our file, and what it means there. */
  entry: ServerEntry;
  server: Server;
  /** Variables that have to be set. */
  variables: string[];
  /** What the user should know: what did not come along, a secret in the file. */
  notes: string[];
}

/** A server of another client in our words, or why it cannot be one. */
export function translateServer(
  foreign: unknown,
  /** What the other client would ask its user for, by id. */
  inputs: ReadonlyMap<string, string>,
): TranslatedServer | { reason: string } {
  const parsed = ForeignServer.safeParse(foreign);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { reason: `${issue?.path.join('.') || 'it'}: ${issue?.message}` };
  }
  const given = parsed.data;
  if (given.disabled) return { reason: 'is switched off there' };
  const notes = new Set<string>();
  const said = (text: string) => translateText(text, inputs, note => notes.add(note));
  const entry = entryOf(given, said);
  if (!entry) return { reason: 'has neither a command nor a url' };
  const checked = Server.safeParse(entry);
  if (!checked.success) return { reason: `type ${JSON.stringify(given.type)} is not known` };
  const server = checked.data;
  const texts = JSON.stringify(entry);
  const strange = malformedVariable(texts);
  if (strange !== null) return { reason: `${strange} means nothing outside the program it was written for` };
  if (given.envFile)
    notes.add(`its variables in ${given.envFile} do not come along: set them, and name them in "env"`);
  const secrets = literalSecrets(server).map(({ name }) => name);
  if (secrets.length > 0)
    notes.add(`has a secret in the file (${[...new Set(secrets)].join(', ')}): better a variable, \${NAME}`);
  const variables = [...new Set(namesIn(texts))].filter(name => !ROOTS.has(name)).sort();
  return { entry, server, variables, notes: [...notes] };
}

const ROOTS: ReadonlySet<string> = new Set(['WORKSPACE_ROOT', 'SQUAD_ROOT']);

function entryOf(
  { type, command, args = [], env = {}, cwd, url, headers = {} }: z.output<typeof ForeignServer>,
  said: (text: string) => string,
): ServerEntry | null {
  const all = (record: Record<string, string | number | boolean | null>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(record).flatMap(([name, value]) =>
        value === null ? [] : [[name, said(String(value))]],
      ),
    );
  if (command !== undefined)
    return {
      command: said(command),
      ...(args.length > 0 && { args: args.map(said) }),
      ...(Object.keys(env).length > 0 && { env: all(env) }),
      // Where it would start anyway.
      ...(cwd !== undefined && !/^\$\{workspaceFolder\}\/?$/.test(cwd) && { cwd: said(cwd) }),
      tools: ['*'],
    };
  if (url === undefined) return null;
  return {
    type: type === undefined || /^streamable-?http$/i.test(type) ? 'http' : type,
    url: said(url),
    ...(Object.keys(headers).length > 0 && { headers: all(headers) }),
    tools: ['*'],
  };
}

/** `${env:X}`, `${input:x}`, `${workspaceFolder}` and the like as our `${X}`. What is left over is no variable here. */
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
      note(`${name} has the default ${JSON.stringify(fallback)} there; here it has to be set`);
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

/** `github-token` → `GITHUB_TOKEN`. */
const variableFor = (input: string): string =>
  input
    .toUpperCase()
    .replace(/[^A-Z0-9_]/g, '_')
    .replace(/^(?=\d)/, '_');
