import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { subagentStarters } from '../src/cli/subagents/init-subagent.ts';
import { SUBAGENT_MODEL_TYPES } from '../src/schema/subagent-names.ts';
import { lintSubagent, readSubagent, subagentFilesIn } from '../src/workspace/subagents/subagent-file.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'examples', 'subagents');
const ENV = { ANTHROPIC_API_KEY: 'k' };
const files = await subagentFilesIn(folder);
const isSound = new Ajv({ strict: false }).compile(
  JSON.parse(readFileSync(join(root, 'schemas', 'subagent.schema.json'), 'utf8')),
);

test('there is one for each thing they are good for, and each is in their table', () => {
  expect(files.map(file => relative(folder, file).replace('.subagent.yaml', ''))).toEqual([
    ...['chain/explore_code', 'chain/plan_change', 'chain/read_closely'],
    ...['edit_docs', 'review_changes', 'triage_log', 'write_tests'],
  ]);
  const table = readFileSync(join(folder, 'README.md'), 'utf8');
  for (const file of files) expect(table).toContain(/([^/]+)\.subagent\.yaml$/.exec(file)![1]);
});

describe.each(files.map(file => [relative(folder, file), file]))('%s', (name, file) => {
  test('has nothing to be found fault with', async () => {
    expect(await lintSubagent(file, ENV)).toEqual([]);
    const subagent = await readSubagent(file, ENV);
    expect(name).toContain(`${subagent.name}.subagent.yaml`);
    expect(subagent.systemPrompt!.length).toBeGreaterThan(200);
    // Only who has a schema ends with a tool.
    expect(subagent.systemPrompt!.includes('`final_answer`')).toBe(subagent.outputSchema !== null);
  });

  test('is what editors take, and names the schema they look it up by', { tags: ['E6'] }, () => {
    const text = readFileSync(file, 'utf8');
    expect(isSound(parse(text))).toBe(true);
    const [, schema] = /^# yaml-language-server: \$schema=(\S+)$/m.exec(text)!;
    expect(join(file, '..', schema!)).toBe(join(root, 'schemas', 'subagent.schema.json'));
  });
});

test('they come with the package, beside the schema they name', () => {
  const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    ...{ cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  });
  const packed = (JSON.parse(said) as [{ files: { path: string }[] }])[0].files.map(({ path }) => path);
  expect(packed).toEqual(
    expect.arrayContaining(
      ['schemas/subagent.schema.json', 'examples/subagents/README.md'].concat(
        files.map(file => relative(root, file)),
        files.map(file => relative(root, file).replace('.subagent.yaml', '.prompt.md')),
      ),
    ),
  );
});

test('the chain is one of three', async () => {
  const next = async (file: string) => {
    const { servers } = await readSubagent(file, ENV);
    const args = Object.values(servers?.servers ?? {}).flatMap(each => ('args' in each ? [each.args] : []));
    return args.find(([first]) => first === 'mcp')?.at(-1);
  };
  const explorer = await next(join(folder, 'chain', 'plan_change.subagent.yaml'));
  expect(explorer).toBe(join(folder, 'chain', 'explore_code.subagent.yaml'));
  const reader = await next(explorer!);
  expect(reader).toBe(join(folder, 'chain', 'read_closely.subagent.yaml'));
  expect(await next(reader!)).toBeUndefined();
});

describe('the schema for editors', () => {
  const sound = parse(readFileSync(join(folder, 'review_changes.subagent.yaml'), 'utf8'));

  test('takes files of CPE', () => {
    const fixtures = join(root, 'src', 'workspace', 'fixtures', 'subagents');
    for (const name of ['review_agent.cpe.yaml', 'coder_agent.cpe.yaml'])
      expect(isSound(parse(readFileSync(join(fixtures, name), 'utf8')))).toBe(true);
  });

  test.each<[string, object]>([
    ['a key nobody knows', { modles: [] }],
    ['no subagent', { subagent: undefined }],
    ['a name that is no text', { subagent: { name: 1, description: 'x' } }],
    ['turns that are no number', { defaults: { model: 'opus', maxTurns: 'many' } }],
    ['a server of no known type', { mcpServers: { a: { type: 'pipe' } } }],
  ])('refuses %s', (_, wrong) => {
    const file = Object.fromEntries(
      Object.entries({ ...sound, ...wrong }).filter(([, value]) => value !== undefined),
    );
    expect(isSound(file)).toBe(false);
  });

  test.each([
    [{}, 'anthropic'],
    [{ OPENAI_API_KEY: 'k' }, 'responses'],
    [{ GEMINI_API_KEY: 'k' }, 'gemini'],
  ])('takes what a new one begins with, for the key that is there: %j', (env, type) => {
    const [config] = subagentStarters('mine', { hasSchema: true, schemaPath: './s.json', env });
    const file = parse(config!.text);
    expect(isSound(file)).toBe(true);
    expect(file.models[0].type).toBe(type);
    // All others are named beside it, and it is not among them.
    const [, others] = /^ +type: \w+ # or (.*)$/m.exec(config!.text)!;
    expect(others!.split(', ')).toEqual(SUBAGENT_MODEL_TYPES.filter(other => other !== type));
  });
});
