import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bundle, mcpb } from '../../../scripts/bundle.ts';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { CLI_IDS } from '../../../src/schema/engine-spec.ts';
import { TestSquad } from '../../support/squad.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const json = (path: string) => JSON.parse(read(path));
const manifest = json('package.json');
const REPOSITORY = 'https://github.com/squad-mcp/squad';

test('package.json says where Squad comes from and which programs it has', () => {
  expect(manifest).toMatchObject({
    name: 'squad-mcp',
    license: 'MIT',
    homepage: `${REPOSITORY}#readme`,
    bugs: `${REPOSITORY}/issues`,
    repository: { type: 'git', url: `git+${REPOSITORY}.git` },
    mcpName: 'io.github.squad-mcp/squad',
  });
  expect(manifest.keywords).toContain('mcp');
  for (const file of Object.values<string>(manifest.bin)) accessSync(join(root, file), constants.X_OK);
});

/** The rules of schema version 2025-12-11 and of the official registry, as far as a local npm package can meet or break them. */
const text = z.string().min(1);
const version = text.max(255).regex(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
const Input = {
  description: text.optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
  value: text.optional(),
  default: text.optional(),
  placeholder: text.optional(),
  choices: z.array(text).optional(),
};
const RegistryEntry = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: text
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: text.max(100),
  description: text.max(100),
  repository: z.strictObject({ url: z.url(), source: z.literal('github') }),
  websiteUrl: z.url(),
  version,
  packages: z
    .array(
      z.strictObject({
        registryType: z.literal('npm'),
        identifier: text,
        version,
        runtimeHint: z.literal('npx'),
        transport: z.strictObject({ type: z.literal('stdio') }),
        packageArguments: z.array(z.strictObject({ ...Input, type: z.literal('positional'), value: text })),
        environmentVariables: z.array(z.strictObject({ ...Input, name: text })),
      }),
    )
    .length(1),
});

test('server.json meets the schema of the MCP registry, and the package names the same server', () => {
  const entry = RegistryEntry.parse(json('server.json'));
  expect(entry.name).toBe(manifest.mcpName);
  expect(entry.packages[0]).toMatchObject({ identifier: manifest.name, version: manifest.version });
});

test('whatever Squad prints points to a guide by an address that exists, not to a file that is not installed', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(
      name =>
        name.endsWith('.ts') && !/\.test\.ts$|testing\/|setup\/(demo(-repository)?\.ts$|policy\/)/.test(name),
    )
    .map(name => ({ name, text: read(join('src', name)) }));
  const code = (all: string) => all.replace(/^\s*(\/\/|\/?\*).*$/gm, '');
  const files = sources.flatMap(source =>
    [...code(source.text).matchAll(/\bdocs\/[\w/-]+\.md|\bREADME\.md/g)].map(
      ([file]) => `${source.name}: ${file}`,
    ),
  );
  expect(files).toEqual([]);
  const guides = sources.flatMap(source =>
    [...source.text.matchAll(/guideUrl\(['`]([^'`]*)['`]\)/g)].map(([, guide]) => guide!),
  );
  expect(guides.length).toBeGreaterThan(2);
  // A guide for each engine.
  const expected = guides.flatMap(guide =>
    guide.includes('engine}') ? CLI_IDS.map(engine => guide.replace(/\$\{engine\}/, engine)) : [guide],
  );
  expect(expected.filter(guide => !existsSync(join(root, 'docs', guide)))).toEqual([]);
});

test('the skill of the plugin names tools that exist', () => {
  const skill = read('plugin/skills/squad/SKILL.md');
  const table = [...skill.matchAll(/^\|[^|]*\|(.*)\|$/gm)].map(([, cell]) => cell!).join('\n');
  const named = [...table.matchAll(/`([a-z]+_[a-z_]+)`/g)].map(([, name]) => name!);
  const fields = ['wait_seconds'];
  const known = OPERATIONS.filter(({ tool }) => tool).map(({ name }) => name as string);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(name => !known.includes(name) && !fields.includes(name))).toEqual([]);
});

describe('the bundle for Claude Desktop', () => {
  test('is accepted by the official validator, and starts a server in the folder that the user chose', async () => {
    await using squad = new TestSquad();
    const folder = mkdtempSync(join(tmpdir(), 'squad-bundle-test-'));
    try {
      const file = join(folder, 'squad.mcpb');
      await bundle(file);
      await mcpb('unpack', file, join(folder, 'unpacked'));
      const { command, args, env } = JSON.parse(
        readFileSync(join(folder, 'unpacked', 'manifest.json'), 'utf8'),
      ).server.mcp_config;
      const values: Record<string, string> = {
        __dirname: join(folder, 'unpacked'),
        'user_config.workspace': squad.workspace,
      };
      const filled = (each: string) => each.replace(/\$\{([^}]+)\}/g, (_, name) => values[name]!);
      const client = new Client({ name: 'claude-ai', version: '1' });
      await client.connect(
        new StdioClientTransport({
          command: command === 'node' ? process.execPath : command,
          args: args.map(filled),
          cwd: '/',
          env: { ...squad.env, SQUAD_WORKSPACE: filled(env.SQUAD_WORKSPACE) },
        }),
      );
      const { tools } = await client.listTools();
      await client.close();
      expect(tools.map(({ name }) => name)).toContain('start_squad_members');
      // The hub is the bundle's own, with the bundle's own database module.
      expect(
        (await squad.json<{ ok: boolean; checks: { name: string; state: string }[] }>(['doctor'])).checks,
      ).toContainEqual(expect.objectContaining({ name: 'database', state: 'ok' }));
    } finally {
      await squad.run(['hub', 'stop']);
      rmSync(folder, { recursive: true });
    }
    // Most of it is compression.
  }, 300_000);
});

test('a Node that is too old is named, by either name of the program, with what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'squad-old-node-'));
  const stub =
    "Object.defineProperty(process,'versions',{value:{...process.versions,node:process.env.FAKE_NODE,napi:process.env.FAKE_NAPI}})";
  for (const [node, napi, isRefused] of [
    ['18.20.0', '9', true],
    ['22.13.1', '9', true],
    ['22.14.0', '10', false],
    ['23.5.0', '9', true],
  ] as const)
    for (const file of Object.values<string>(manifest.bin)) {
      const load = `data:text/javascript,${encodeURIComponent(stub)}`;
      let said = '';
      try {
        execFileSync(process.execPath, ['--import', load, join(root, file), '--version'], {
          env: { ...process.env, FAKE_NODE: node, FAKE_NAPI: napi, HOME: folder },
          encoding: 'utf8',
          stdio: 'pipe',
        });
      } catch (thrown) {
        said = (thrown as { stderr: string }).stderr;
      }
      expect([node, said]).toEqual([
        node,
        isRefused
          ? `squad: needs Node 22.14 or newer, and this is Node ${node}. Install Node 24 (https://nodejs.org) and try again.\n`
          : '',
      ]);
    }
  rmSync(folder, { recursive: true });
});
