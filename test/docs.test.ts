import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { referenceDocuments } from '../scripts/generate-docs.ts';
import { EXIT } from '../src/cli/exit-codes.ts';
import { CLIENT_NAMES, clientNamed } from '../src/cli/setup/install/clients.ts';
import { statusText } from '../src/cli/terminal/status-text.ts';
import { cliProfile } from '../src/engines/cli-profiles.ts';
import { writeEnvironmentFile } from '../src/link/environment-file.ts';
import { INSTRUCTIONS } from '../src/mcp/face.ts';
import { OPERATIONS } from '../src/operations/operations.ts';
import { HubSettings, UserFile } from '../src/schema/config.ts';
import { CLI_IDS } from '../src/schema/engine-spec.ts';
import { exitCodeOf, isErrorCode } from '../src/schema/error.ts';
import { ArgumentRule, LocalServer, McpConfig, RemoteServer } from '../src/schema/mcp-config.ts';
import { PERMISSION_TEXT } from '../src/schema/permission-text.ts';
import { RoleMeta } from '../src/schema/role.ts';
import { RunStatus } from '../src/schema/run.ts';
import { EMPTY_MCP_CONFIG } from '../src/workspace/gateway/change-mcp-config.ts';

const root = resolve(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
];

test('the reference is what the programs say now (npm run docs writes it)', () => {
  for (const [path, content] of Object.entries(referenceDocuments())) expect(read(path)).toBe(content);
  // A process for each command.
}, 600_000);

describe('the list of error codes', () => {
  const rows = [...read('docs/reference/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)];
  const codes = [...read('src/schema/error.ts').matchAll(/^ {2}([A-Z_]+): \{ kind:/gm)].map(
    ([, code]) => code!,
  );

  test('has every error code once, and no other', { tags: ['A10', 'R27'] }, () => {
    expect(codes.length).toBeGreaterThan(30);
    expect(rows.map(([, code]) => code).sort()).toEqual([...codes].sort());
  });

  test('gives the exit code each one has', () => {
    for (const [, code, exit] of rows)
      expect([code, Number(exit)]).toEqual([code, isErrorCode(code) && exitCodeOf(code)]);
  });
});

describe('pages of reference', () => {
  test('every setting is in the reference', () => {
    const reference = read('docs/reference/configuration.md');
    for (const key of Object.keys(UserFile.shape).filter(name => name !== '$schema'))
      expect(reference).toContain(`\`${key}\``);
    for (const key of Object.keys(HubSettings.shape)) expect(reference).toContain(`\`${key}\``);
  });

  test('every status is in the reference, as the terminal shows it', () => {
    const rows = [...read('docs/reference/statuses.md').matchAll(/^\| `([a-z_]+)` \| ([a-z ]+) \|/gm)];
    expect(rows.map(([, status, text]) => [status, text])).toEqual(
      RunStatus.options.map(status => [status, statusText(status)]),
    );
  });

  test('every exit code is in the reference', () => {
    const rows = [...read('docs/reference/statuses.md').matchAll(/^\| (\d+) \|/gm)];
    expect(rows.map(([, code]) => Number(code))).toEqual(Object.values(EXIT));
  });

  test('every key of a role file is in the roles guide', () => {
    const guide = read('docs/guides/roles/roles.md');
    for (const key of Object.keys(RoleMeta.shape)) expect(guide).toContain(`| \`${key}\` |`);
  });
});

test('the roles guide describes permissions as the terminal and the web UI do', () => {
  const guide = read('docs/guides/roles/roles.md');
  for (const text of Object.values(PERMISSION_TEXT)) expect(guide).toContain(text);
});

describe('the guide for other servers', () => {
  const guide = read('docs/guides/gateway/mcp-servers.md');

  test('has an example that editors and Squad both take', () => {
    const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(guide)![1]!);
    const isSound = new Ajv({ strict: false }).compile(JSON.parse(read('schemas/mcp-config.schema.json')));
    expect(isSound(example)).toBe(true);
    expect(isSound({ ...example, shard: [] })).toBe(false);
    expect(Object.keys(McpConfig.parse(example).servers)).toEqual(['files', 'tracker']);
    expect(EMPTY_MCP_CONFIG).toContain(example.$schema);
  });

  test('has every key', () => {
    const keys = [McpConfig, LocalServer, RemoteServer, ArgumentRule].flatMap(({ shape }) =>
      Object.keys(shape),
    );
    const both = guide + read('docs/guides/gateway/tool-access.md');
    for (const key of keys) expect(both).toContain(`\`${key}\``);
  });
});

/** The others are editors, which start Squad as an agent. */
const MCP_CLIENTS = CLIENT_NAMES.filter(name => clientNamed(name).entryPath[1] === 'squad');

test.each(CLIENT_NAMES.filter(name => !MCP_CLIENTS.includes(name)))(
  'the guide for the editor %s has its command, its file and a link from the other clients',
  name => {
    const guide = read(`docs/guides/setup/${name}.md`);
    const { title, userFiles } = clientNamed(name);
    const [file] = userFiles({ home: '~', env: {}, platform: 'linux', program: { command: '', args: [] } });
    expect(guide).toContain(`# Squad in ${title}`);
    expect(guide).toContain(`squad install ${name}`);
    expect(guide).toContain(file);
    expect(read('docs/guides/setup/clients.md')).toContain(`[${title}](${name}.md)`);
  },
);

describe.each(CLI_IDS)('the guide for the engine %s', engine => {
  const guide = read(`docs/guides/engines/${engine}.md`);
  const setUp = /^## Set-up\n([\s\S]*?)\n## /m.exec(guide)?.[1] ?? '';

  test('says how to get it', () => {
    expect(setUp).toContain(cliProfile(engine).install.replace(/^see /, ''));
  });

  test.each(MCP_CLIENTS)('has the exact set-up for %s', name => {
    const { title, userFiles, entryPath } = clientNamed(name);
    const [file] = userFiles({ home: '~', env: {}, platform: 'linux', program: { command: '', args: [] } });
    const row = setUp.split('\n').find(line => line.startsWith(`| ${title} |`)) ?? '';
    expect(row).toContain(`| \`ENGINE_COMMAND=${engine} squad install ${name}\` |`);
    expect(row).toContain(`\`${file}\``);
    expect(row).toMatch(new RegExp(`\`\\[?${entryPath.join('\\.')}\\]?\``));
  });

  test('promises to keep only variables that install really keeps', () => {
    const list = /what is set in that shell of (.*) in `\$SQUAD_HOME\/env`/.exec(setUp)?.[1] ?? '';
    const names = [...list.matchAll(/`([A-Z_]+\*?)`/g)].map(([, name]) => name!.replace('*', 'X'));
    const home = mkdtempSync(join(tmpdir(), 'squad-docs-'));
    const env = Object.fromEntries(names.map(name => [name, 'x']));
    expect(names.length).toBeGreaterThan(0);
    expect(writeEnvironmentFile(home, env).sort()).toEqual([...new Set(names)].sort());
    rmSync(home, { recursive: true });
  });
});

test('the instructions a client gets fit into 2 KB and name every tool', { tags: ['C11'] }, () => {
  expect(Buffer.byteLength(INSTRUCTIONS)).toBeLessThanOrEqual(2048);
  // Tools with `textOnly` are called by an engine, never by a model.
  for (const { name, tool } of OPERATIONS)
    if (tool && !tool.textOnly && (tool.toolset ?? 'core') === 'core') expect(INSTRUCTIONS).toContain(name);
});

test('the guide for clients says how to deny a client its own sub-agents', { tags: ['C11'] }, () => {
  expect(read('docs/guides/setup/clients.md')).toContain('"deny": ["Agent"]');
});

/** Links of a document to others: path below the project, and the heading they name. */
const linksOf = (document: string): { path: string; anchor: string | undefined }[] =>
  [...read(document).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)].map(([, path, anchor]) => ({
    path: path ? join(dirname(document), path) : document,
    anchor,
  }));

/** As Git hosts and the site name headings. */
const anchorsOf = (document: string): string[] =>
  [
    ...read(document)
      .replace(/^(`{3,})[\s\S]*?^\1$/gm, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, title]) =>
    title!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every link between documents leads somewhere, also to its heading', () => {
  const broken = documents.flatMap(document =>
    linksOf(document)
      .filter(({ path, anchor }) => {
        const file = join(root, path);
        if (!existsSync(file) || statSync(file).isDirectory()) return true;
        return anchor !== undefined && !anchorsOf(path).includes(anchor);
      })
      .map(({ path, anchor = '' }) => `${document} → ${path}#${anchor}`),
  );
  expect(documents.length).toBeGreaterThan(15);
  expect(broken).toEqual([]);
});

test('every document can be reached from the README, and every guide from the index', () => {
  const reached = new Set(['README.md']);
  for (const document of reached)
    for (const { path } of linksOf(document)) if (path.endsWith('.md')) reached.add(path);
  expect(documents.filter(document => !reached.has(document))).toEqual([]);
  const indexed = linksOf('docs/index.md').map(({ path }) => path);
  const engines = linksOf('docs/guides/engines/index.md').map(({ path }) => path);
  const guides = documents.filter(document =>
    /^docs\/(guides|tutorials|reference|explanation)\//.test(document),
  );
  expect(guides.filter(guide => ![...indexed, ...engines].includes(guide))).toEqual([]);
});

test('the README starts fast, and no guide is long', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(120);
  const long = documents
    .filter(document => /^docs\/(guides|tutorials|explanation)\//.test(document))
    .filter(document => read(document).split(/\s+/).length > 1500);
  expect(long).toEqual([]);
});

test('AGENTS.md stays short enough to be read', () => {
  expect(read('AGENTS.md').split('\n').length).toBeLessThanOrEqual(150);
});
