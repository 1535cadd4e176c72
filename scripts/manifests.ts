/** Files that other programs read to find or install Squad, all made from package.json and the roles. `npm run docs` writes them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { NPX } from '../src/cli/own-command.ts';
import { clientNamed, type Entry } from '../src/cli/setup/install/clients.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const { name, version, description, license, keywords, homepage, repository, mcpName } = JSON.parse(
  read('package.json'),
) as {
  name: string;
  version: string;
  description: string;
  license: string;
  keywords: string[];
  homepage: string;
  repository: { url: string };
  mcpName: string;
};
const source = repository.url.replace(/^git\+|\.git$/g, '');
const author = { name: 'The Squad authors', url: source };

const GUIDE = 'docs/guides/setup/clients.md';

/** The entry that `squad install` writes for a user without a configuration of their own. */
const entryOf = (client: 'claude-code' | 'cursor', args = NPX.args): Entry =>
  clientNamed(client).entry({ home: '', env: {}, platform: 'linux', program: { ...NPX, args } });

/** Maps paths below the project to contents. */
export function manifests(): Record<string, string> {
  return {
    'server.json': json(registryEntry()),
    '.claude-plugin/marketplace.json': json(marketplace()),
    'plugin/.claude-plugin/plugin.json': json({
      name: 'squad',
      version,
      description,
      author,
      homepage,
      repository: source,
      license,
      keywords,
    }),
    // The plugin and the program that it starts have the same version.
    'plugin/.mcp.json': json({
      mcpServers: { squad: entryOf('claude-code', ['-y', `${name}@${version}`]) },
    }),
    ...Object.fromEntries(
      readdirSync(join(root, 'roles')).map(file => [`plugin/agents/${file}`, agentOf(file)]),
    ),
    [GUIDE]: withLinks(read(GUIDE)),
  };
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Entry for the MCP registry, https://registry.modelcontextprotocol.io. */
const registryEntry = () => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: mcpName,
  title: 'Squad',
  description,
  repository: { url: source, source: 'github' },
  websiteUrl: homepage,
  version,
  packages: [
    {
      registryType: 'npm',
      identifier: name,
      version,
      runtimeHint: 'npx',
      transport: { type: 'stdio' },
      packageArguments: [{ type: 'positional', value: 'mcp' }],
      environmentVariables: [
        {
          name: 'SQUAD_WORKSPACE',
          description:
            'Folder that agents work in (default: the folder in which the client starts the server)',
          format: 'filepath',
        },
        {
          name: 'SQUAD_TOOLSETS',
          description: 'Toolsets to offer, separated by commas: core, team, templates (default: core)',
        },
        {
          name: 'SQUAD_DATABASE_URL',
          description:
            'URL of the PostgreSQL database that the hub uses (default: an SQLite file in its home)',
          isSecret: true,
        },
      ],
    },
  ],
});

/** Marketplace of Claude Code, for `/plugin marketplace add squad-mcp/squad` and `/plugin install squad@squad-mcp`. */
const marketplace = () => ({
  name,
  owner: author,
  metadata: { description: 'Squad for Claude Code' },
  plugins: [{ name: 'squad', source: './plugin', description, version, category: 'development', keywords }],
});

/** A role as a subagent of Claude Code. Claude Code knows no other field of a role. */
function agentOf(file: string): string {
  const [, head = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(read(`roles/${file}`)) ?? [];
  const role = parse(head) as { description: string };
  return `---\nname: ${file.slice(0, -3)}\ndescription: ${role.description}\n---\n${body}`;
}

/**
 * Links that open a client, which then asks whether to add Squad. The addresses begin with https, because GitHub shows
 * no others.
 */
const LINK_TARGETS = {
  'VS Code': { page: 'https://vscode.dev/redirect/mcp/install', encode: (text: string) => text },
  Cursor: { page: 'https://cursor.com/install-mcp', encode: btoa },
};

const linkTo = ({ page, encode }: (typeof LINK_TARGETS)[keyof typeof LINK_TARGETS]): string =>
  `${page}?name=squad&config=${encodeURIComponent(encode(JSON.stringify(entryOf('cursor'))))}`;

const LINKS =
  /(<!-- Install links, written by `npm run docs` -->\n)[\s\S]*?(?=\n<!-- End of install links -->)/;

const withLinks = (text: string): string =>
  text.replace(
    LINKS,
    (_, start: string) =>
      `${start}${Object.entries(LINK_TARGETS)
        .map(([title, target]) => `[Add Squad to ${title}](${linkTo(target)})`)
        .join(' · ')}`,
  );

/** The links of the guide, each with its configuration, decoded as the client decodes it. */
export function installLinks(): { title: string; config: { command: string; args: string[] } }[] {
  const [, block = ''] = LINKS.exec(read(GUIDE))?.[0].split('-->\n') ?? [];
  return [...block.matchAll(/\[Add Squad to ([^\]]+)\]\(([^)]+)\)/g)].map(([, title = '', url = '']) => {
    const text = new URL(url).searchParams.get('config') ?? '';
    return { title, config: JSON.parse(text.startsWith('{') ? text : atob(text)) };
  });
}

/** Manifest for `npm run bundle`. Claude Desktop installs the bundle with a double click. */
export const bundleManifest = () => ({
  manifest_version: '0.2',
  name: 'squad',
  display_name: 'Squad',
  version,
  description,
  author,
  repository: { type: 'git', url: source },
  homepage,
  support: `${source}/issues`,
  license,
  keywords,
  server: {
    type: 'node',
    entry_point: 'bin/squad.cjs',
    mcp_config: {
      command: 'node',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client replaces it.
      args: ['${__dirname}/bin/squad.cjs', 'mcp'],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client replaces it.
      env: { SQUAD_WORKSPACE: '${user_config.workspace}' },
    },
  },
  tools_generated: true,
  compatibility: { platforms: ['darwin', 'linux'], runtimes: { node: '>=22.14' } },
  user_config: {
    workspace: {
      type: 'directory',
      title: 'Workspace',
      description: 'Folder that agents work in',
      required: true,
    },
  },
});
