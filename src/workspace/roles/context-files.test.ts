import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readContextFiles } from './context-files.ts';

let root: string;
beforeEach(async () => {
  root = join(await realpath(await mkdtemp(join(tmpdir(), 'squad-context-'))), 'workspace');
  await mkdir(root);
});
afterEach(() => rm(dirname(root), { recursive: true, force: true }));

async function put(file: string, content: string | Buffer = file): Promise<void> {
  await mkdir(dirname(join(root, file)), { recursive: true });
  await writeFile(join(root, file), content);
}
const names = async () => (await readContextFiles(root, true)).map(({ file }) => file);

describe('the usual files', () => {
  it('are those that are there, in a fixed order', async () => {
    expect(await names()).toEqual([]);
    for (const name of ['ARCHITECTURE', 'AGENTS', 'CLAUDE', 'PLAN', 'PRD', 'README']) await put(`${name}.md`);
    expect(await readContextFiles(root, true)).toEqual(
      ['PRD.md', 'PLAN.md', 'CLAUDE.md', 'AGENTS.md', 'ARCHITECTURE.md'].map(file => ({ file, text: file })),
    );
  });

  it('are called as they are on disk', async () => {
    await put('plan.md');
    await put('Prd.md');
    await put('prd.MD');
    expect(await names()).toEqual(['Prd.md', 'plan.md']);
  });

  it('may be in docs, except those for programs, and only if the root has none', async () => {
    for (const name of ['prd', 'PLAN', 'CLAUDE', 'AGENTS', 'ARCHITECTURE']) await put(`docs/${name}.md`);
    await put('PLAN.md');
    expect(await names()).toEqual(['docs/prd.md', 'PLAN.md', 'docs/ARCHITECTURE.md']);
  });

  it('are reported when they cannot be read', async () => {
    await put('PRD.md', Buffer.from([0x61, 0xff]));
    await put('PLAN.md', 'a\0b');
    await put('CLAUDE.md', 'x'.repeat(1024 * 1024 + 1));
    await mkdir(join(root, 'AGENTS.md'));
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', join(root, 'ARCHITECTURE.md')]);
    expect(await readContextFiles(root, true)).toEqual([
      { file: 'PRD.md', fault: 'is not UTF-8 text' },
      { file: 'PLAN.md', fault: 'holds a NUL character' },
      { file: 'CLAUDE.md', fault: 'is 1048577 bytes; at most 1048576 are read' },
      { file: 'AGENTS.md', fault: 'is a folder' },
      { file: 'ARCHITECTURE.md', fault: 'is not a regular file' },
    ]);
  });

  it('may be links inside the workspace, and none that lead out', async () => {
    await put('AGENTS.md', 'rules');
    await symlink('AGENTS.md', join(root, 'CLAUDE.md'));
    await writeFile(join(root, '../secret'), 'secret');
    await symlink('../secret', join(root, 'PRD.md'));
    await symlink('PLAN.md', join(root, 'PLAN.md'));
    await symlink('gone', join(root, 'ARCHITECTURE.md'));
    expect(await readContextFiles(root, true)).toEqual([
      { file: 'PRD.md', fault: 'is a symbolic link out of the workspace' },
      { file: 'PLAN.md', fault: 'is a symbolic link that leads to itself' },
      { file: 'CLAUDE.md', text: 'rules' },
      { file: 'AGENTS.md', text: 'rules' },
      { file: 'ARCHITECTURE.md', fault: 'was removed while it was read' },
    ]);
  });
});

describe('named files', () => {
  it('come in the order given, each once', async () => {
    await put('b/two.md');
    await put('one.md');
    expect(await readContextFiles(root, ['b/two.md', './one.md', 'b/../one.md'])).toEqual([
      { file: 'b/two.md', text: 'b/two.md' },
      { file: 'one.md', text: 'one.md' },
    ]);
    expect(await readContextFiles(root, [])).toEqual([]);
  });

  it('must be there', async () => {
    await put('docs/design.md');
    await expect(readContextFiles(root, ['docs/desing.md'])).rejects.toMatchObject({
      code: 'CONTEXT_MISSING',
      message: `The context file "docs/desing.md" does not exist in ${root}.`,
      suggestions: expect.arrayContaining(['Did you mean docs/design.md?']),
    });
  });

  it('are left for the preview to explain when they cannot be read', async () => {
    await put('logo.png', Buffer.from([0x89, 0x50]));
    expect(await readContextFiles(root, ['logo.png', '.'])).toEqual([
      { file: 'logo.png', fault: 'is not UTF-8 text' },
      { file: '.', fault: 'is a folder' },
    ]);
  });

  it.each(['../secret', '../not-there', '/etc/hostname', 'a/../../secret', 'link', 'folder/secret'])(
    'stay inside the workspace: not %j',
    async name => {
      await writeFile(join(root, '../secret'), 'secret');
      await symlink('../secret', join(root, 'link'));
      await symlink('..', join(root, 'folder'));
      await expect(readContextFiles(root, [name])).rejects.toMatchObject({
        code: 'CONTEXT_MISSING',
        message: expect.stringContaining('is outside the workspace'),
      });
    },
  );

  it.each([
    ['', 'INVALID_INPUT'],
    ['a\0b', 'INVALID_TEXT'],
  ])('have a name: not %j', async (name, code) => {
    await expect(readContextFiles(root, [name])).rejects.toMatchObject({ code });
  });
});
