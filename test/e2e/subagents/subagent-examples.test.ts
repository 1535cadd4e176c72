import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import { RawMcp } from '../../support/raw-mcp.ts';
import { BIN } from '../../support/squad.ts';
import { Subagents, said } from '../../support/subagents.ts';

const PACKAGE = join(import.meta.dirname, '..', '..', '..');
const FILES_SERVER = join(PACKAGE, 'node_modules/@modelcontextprotocol/server-filesystem');

let subagents: Subagents;
let folder: string;

/** The examples as they are shipped, in a folder of their own; the models and programs they name are here. */
beforeAll(async () => {
  subagents = await Subagents.start({ ANTHROPIC_API_KEY: 'fake' });
  const { squad, model } = subagents;
  folder = join(squad.root, 'examples');
  cpSync(join(PACKAGE, 'examples', 'subagents'), folder, { recursive: true });
  const { version } = JSON.parse(readFileSync(join(FILES_SERVER, 'package.json'), 'utf8'));
  squad.script('../bin/squad', `exec "${process.execPath}" "${BIN}" "$@"`);
  squad.script(
    '../bin/npx',
    `[ "$1 $2" = "-y @modelcontextprotocol/server-filesystem@${version}" ] && exec "${process.execPath}" "${join(FILES_SERVER, 'dist', 'index.js')}" "$3"`,
  );
  squad.env.PATH = `${join(squad.root, 'bin')}:${squad.env.PATH}`;
  squad.env.ANTHROPIC_BASE_URL = model.url;
  await squad.unlimited();
});
afterAll(() => subagents[Symbol.asyncDispose]());

async function called(name: string, args: object) {
  const config = join(folder, `${name}.subagent.yaml`);
  const client = await RawMcp.legacy(subagents.squad, { args: ['serve', '--config', config] });
  const { result } = await client.ask('tools/list');
  const [tool] = result!.tools as { name: string; outputSchema?: object }[];
  const answer = await said(client, client.call(tool!.name, args));
  await client.close();
  return { tool: tool!, answer };
}

const shipped = (file: string) => readFileSync(join(folder, file), 'utf8');

describe('subagents that only think get their material and answer in their schema', () => {
  const REVIEW = {
    verdict: 'request_changes',
    summary: 'It divides.',
    findings: [
      { severity: 'blocker', file: 'a.js', line: 2, title: 'No zero', why: 'half(0)', fix: 'Refuse it.' },
    ],
  };
  const TRIAGE = {
    ...{ cause: 'The disk was full.', kind: 'surroundings', confidence: 'high' },
    ...{ evidence: [{ line: 2, text: 'ENOSPC' }], next: 'df -h' },
  };

  test.each([
    ['review_changes', 'change.diff', '+export const half = n => 1 / n;\n', REVIEW],
    ['triage_log', 'job.log', 'build\nENOSPC: no space left\n', TRIAGE],
  ])('%s', async (name, input, material, value) => {
    subagents.squad.write(input, material);
    const prompt = mock([{ call: 'final_answer', arguments: value }], name);
    const { tool, answer } = await called(name, { prompt, inputs: [input] });
    expect(answer).toEqual({ text: JSON.stringify(value), isError: false, structured: value });
    expect(tool).toMatchObject({ name, outputSchema: JSON.parse(shipped(`${name}.schema.json`)) });
    const asked = subagents.model.first(name)!;
    expect(asked.system).toContain(shipped(`${name}.prompt.md`).trim());
    expect(asked.prompt).toContain(material.trim());
    expect(asked.tools).toEqual(['final_answer']);
  });
});

test('edit_docs edits pages where its client works, and has no other tools for files', async () => {
  const page = subagents.squad.write('docs/page.md', '# Page\n\nSimply run it.\n');
  const edits = [{ oldText: 'Simply run it.', newText: 'Run it.' }];
  const prompt = mock(
    [
      { call: 'read_text_file', arguments: { path: 'docs/page.md' } },
      { call: 'edit_file', arguments: { path: 'docs/page.md', edits } },
      { text: 'One word less.' },
    ],
    'edit',
  );
  const { answer } = await called('edit_docs', { prompt });
  expect(answer).toEqual({ text: 'One word less.', isError: false });
  expect(readFileSync(page, 'utf8')).toBe('# Page\n\nRun it.\n');
  expect(subagents.model.first('edit')!.tools.toSorted()).toEqual(
    ['edit_file', 'list_directory', 'read_text_file', 'search_files'].map(name => `filesystem__${name}`),
  );
});

test('write_tests reads and writes in one program', async () => {
  subagents.squad.write('src/a.js', 'export const a = 1;\n');
  subagents.squad.write('src/b.js', 'export const b = 2;\n');
  const program = `
    const read = (path: string) => tools.filesystem__read_text_file({ path });
    const texts = await Promise.all(['src/a.js', 'src/b.js'].map(read));
    await tools.filesystem__write_file({ path: 'src/both.test.js', content: '// ' + texts.length + ' files\\n' });
    return texts.length;`;
  const prompt = mock([{ call: 'run_program', arguments: { program } }, { text: 'Written.' }], 'tests');
  const { answer } = await called('write_tests', { prompt });
  expect(answer).toEqual({ text: 'Written.', isError: false });
  expect(readFileSync(join(subagents.squad.workspace, 'src/both.test.js'), 'utf8')).toBe('// 2 files\n');
  expect(subagents.model.first('tests')!.tools).toEqual(['run_program']);
});

test('plan_change asks explore_code, which asks read_closely: three runs, each below the other', async () => {
  subagents.squad.write('src/limits.js', 'export const LIMIT = 7;\n');
  const seen = { relevant: true, summary: 'The limit is 7.', lines: [{ line: 1, text: 'LIMIT = 7' }] };
  const closely = mock([{ call: 'final_answer', arguments: seen }], 'closely');
  const program = `
    const seen = await tools.reader__read_closely({ prompt: ${JSON.stringify(closely)}, inputs: ['src/limits.js'] });
    return seen.summary;`;
  const explore = mock(
    [{ call: 'run_program', arguments: { program } }, { text: 'src/limits.js:1 has it.' }],
    'explore',
  );
  const prompt = mock(
    [{ call: 'explore_code', arguments: { prompt: explore } }, { text: 'Change line 1.' }],
    'plan',
  );
  const { answer } = await called('chain/plan_change', { prompt });
  expect(answer).toEqual({ text: 'Change line 1.', isError: false });

  const { model } = subagents;
  expect(model.first('closely')!.prompt).toContain('export const LIMIT = 7;');
  const results = (tag: string) =>
    model.requests
      .filter(each => each.tag === tag)
      .at(-1)!
      .toolResults.join();
  expect(results('explore')).toContain('The limit is 7.');
  expect(results('plan')).toContain('src/limits.js:1 has it.');
  const runs = await subagents.runs();
  const of = (name: string) => runs.find(({ options }) => options.subagent === name)!;
  expect(of('explore_code')).toMatchObject({ depth: 1, parentId: of('plan_change').id, status: 'completed' });
  expect(of('read_closely')).toMatchObject({
    depth: 2,
    parentId: of('explore_code').id,
    status: 'completed',
  });
});
