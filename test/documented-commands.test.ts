import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createProgram } from '../src/cli/main.ts';
import { makeRepository } from './support/git-squad.ts';
import { documentsBelow, runInShell, shellBlocks } from './support/shell-blocks.ts';
import { TestSquad } from './support/squad.ts';

const root = resolve(import.meta.dirname, '..');
const DOCUMENTS = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...documentsBelow('docs'),
  ...documentsBelow('examples'),
];

const folder = mkdtempSync(join(tmpdir(), 'squad-commands-'));
// Blocks write files beside it.
const project = join(folder, 'project');
mkdirSync(project);
afterAll(() => rmSync(folder, { recursive: true }));

/** Arguments of each `squad` in a block, as bash reads them. No other program can be found, so nothing is run. */
function commandsIn(block: string): string[][] {
  const record = join(folder, 'record');
  writeFileSync(record, '');
  const stubs = `PATH='${folder}'; command_not_found_handle() { :; }; squad() { [ $# -eq 0 ] || builtin printf '%s\\0' "$@" '\n' >>'${record}'; }`;
  // A file to read from would have to be there.
  const lines = block.replace(/ < [\w./-]+/g, '');
  spawnSync('bash', ['-c', `${stubs}\n${lines}`], { cwd: project, env: { PATH: process.env.PATH } });
  return readFileSync(record, 'utf8')
    .split('\0\n\0')
    .filter(Boolean)
    .map(words => words.split('\0'));
}

describe('every command in a document exists, with these options and arguments', () => {
  /** What is wrong with a command line; nothing is done. */
  async function problemOf(words: string[]): Promise<string | null> {
    // Other programs take these, of which `acp` and `mcp serve` are registered for their help alone.
    if (/^acp$|^mcp( --toolsets \S+)?$|^mcp serve --config \S+$/.test(words.join(' '))) return null;
    const understood = new Error('Understood, and not carried out');
    const program = createProgram(() => {}).hook('preAction', () => {
      throw understood;
    });
    for (const command of [program, ...program.commands]) command.configureOutput({ writeOut() {} });
    try {
      await program.parseAsync(['node', 'squad', ...words]);
      return `squad ${words.join(' ')}: does nothing`;
    } catch (thrown) {
      const { exitCode, message } = thrown as { exitCode?: number; message: string };
      return thrown === understood || exitCode === 0 ? null : `squad ${words.join(' ')}: ${message}`;
    }
  }

  // The others are run.
  const parsed = DOCUMENTS.filter(path => !/^README|^docs\/(guides|tutorials)/.test(path));
  test.each(parsed.filter(path => shellBlocks(path).some(block => block.includes('squad '))))(
    '%s',
    async path => {
      for (const block of shellBlocks(path)) {
        const commands = commandsIn(block);
        expect(commands.length).toBeGreaterThanOrEqual(block.match(/^squad \S/gm)?.length ?? 0);
        const problems = await Promise.all(commands.map(problemOf));
        expect(problems.filter(problem => problem !== null)).toEqual([]);
      }
    },
  );

  /** `squad run --engine` in a text is a part of a command, and Squad starts `squad agent` itself. */
  const MAY_LACK = /missing|not specified|outputHelp|^squad (agent|mcp --identity)/;

  test.each(DOCUMENTS.filter(path => !/CHANGELOG|decisions\//.test(path)))('%s, in its text', async path => {
    const text = readFileSync(join(root, path), 'utf8').replaceAll(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, '');
    const lines = [...text.matchAll(/`(squad [a-z][^`…[]*)`/g)].map(([, line]) =>
      line!.replaceAll('\\|', '|'),
    );
    const problems = await Promise.all(commandsIn(lines.join('\n')).map(problemOf));
    expect(problems.filter(problem => problem !== null && !MAY_LACK.test(problem))).toEqual([]);
  });

  test('a wrong one is found', async () => {
    expect(commandsIn('X=1 squad ls --ned | head')).toEqual([['ls', '--ned']]);
    expect(await problemOf(['ls', '--ned'])).toContain("unknown option '--ned'");
    expect(await problemOf(['run', '--permission', 'all', 'coder', 'x'])).toContain('Allowed choices');
    expect(await problemOf(['hub', 'halt'])).toContain("unknown command 'halt'");
  });
});

describe('a person who types what it says gets to its end', () => {
  test.each([...documentsBelow('docs/tutorials'), 'docs/guides/ci.md'])('%s', async path => {
    await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    writeFileSync(join(squad.env.HOME!, '.gitconfig'), '[user]\nname = Ada\nemail = ada@example.com\n');
    if (path.endsWith('ci.md')) makeRepository(squad);
    const { code, stdout, stderr } = await runInShell(
      squad,
      // It may have moved its home.
      `trap 'squad hub stop >/dev/null 2>&1' EXIT\n${shellBlocks(path).join('\n')}`,
      ({ words, ...where }) => squad.run(words[0] === 'open' ? [...words, '--no-browser'] : words, where),
    );
    expect({ code, said: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, said: '' });
  });
});
