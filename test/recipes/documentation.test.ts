import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Recipe } from './recipe.ts';

const recipe = new Recipe('documentation', {});
const inDocs = (name: string) => join(recipe.squad.workspace, 'docs', name);

beforeAll(async () => {
  recipe.squad.write('docs/storage.md', '# Storage\n\nRows are kept in SQLite.\n');
  await recipe.trust();
});
afterAll(() => recipe[Symbol.asyncDispose]());

const ARGUMENTS = {
  docs__read_text_file: { path: inDocs('storage.md') },
  docs__list_directory: { path: inDocs('') },
  docs__search_files: { path: inDocs(''), pattern: '*.md' },
  docs__write_file: { path: inDocs('queue.md'), content: '# Queue\n' },
  docs__edit_file: { path: inDocs('storage.md'), edits: [{ oldText: '# Storage', newText: '# Storage' }] },
  knowledge__create_entities: {
    entities: [{ name: 'SQLite', entityType: 'decision', observations: ['one file, no server'] }],
  },
  knowledge__create_relations: { relations: [{ from: 'SQLite', to: 'storage', relationType: 'serves' }] },
  knowledge__add_observations: { observations: [{ entityName: 'SQLite', contents: ['fast enough'] }] },
  knowledge__search_nodes: { query: 'SQLite' },
  knowledge__open_nodes: { names: ['SQLite'] },
};

it.each(['architect', 'coder', 'reviewer'])(
  'the %s has what the guide says, and nothing else',
  async role => {
    const said = await recipe.holds(role, ARGUMENTS, ['docs__move_file', 'knowledge__delete_entities']);
    expect(said.docs__read_text_file).toContain('Rows are kept in SQLite.');
  },
);

it('the file the guide asks for is written where the guide says', { tags: ['B12'] }, async () => {
  const guide = readFileSync(
    join(import.meta.dirname, '..', '..', 'docs', 'guides', 'gateway', 'recipes', 'documentation.md'),
    'utf8',
  );
  const [, path] = /^squad run architect ".* in (\S+\.md) with docs__write_file/m.exec(guide)!;
  const [, place] = new RegExp(`\`${path}\` is the file \`(.*?)\``).exec(guide)!;
  const content = '# Storage\n\nAs the guide has it: rows are kept in SQLite.\n';
  const [answer] = await recipe.ask('architect', [
    { method: 'tools/call', params: { name: 'docs__write_file', arguments: { path, content } } },
  ]);
  expect(answer!.result).toMatchObject({ content: [{ text: expect.stringContaining('Successfully') }] });
  expect(readFileSync(join(recipe.squad.workspace, place!), 'utf8')).toBe(content);
});

it('what the architect knows is kept, and only documents are written', async () => {
  expect(readFileSync(join(recipe.squad.workspace, '.squad', 'knowledge.jsonl'), 'utf8')).toContain('SQLite');
  const write = (name: string) => ({
    method: 'tools/call',
    params: { name: 'docs__write_file', arguments: { path: inDocs(name), content: 'x' } },
  });
  const [program, document] = await recipe.ask('architect', [write('run.sh'), write('run.md')]);
  expect(program!.error ?? program!.result!.isError).toBeTruthy();
  expect(document!.result!.isError ?? false).toBe(false);
  expect([existsSync(inDocs('run.sh')), existsSync(inDocs('run.md'))]).toEqual([false, true]);
});
