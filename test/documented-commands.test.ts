import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProgram } from '../src/cli/main.ts';
import { makeRepository, script } from './support/git-squad.ts';
import { BIN, TestSquad, until } from './support/squad.ts';

const root = resolve(import.meta.dirname, '..');
const below = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join(folder, name))
    .sort();
const TUTORIALS = below('docs/tutorials');
const DOCUMENTS = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...below('docs'),
  ...below('examples'),
];

/** The shell blocks of a document, in order. */
function shellBlocks(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/^(`{3,})sh\n([\s\S]*?)^\1$/gm)].map(([, , block]) => block!);
}

describe('every command in a document exists, with these options and arguments', () => {
  const folder = mkdtempSync(join(tmpdir(), 'squad-commands-'));
  // Blocks write files beside it.
  const cwd = join(folder, 'project');
  mkdirSync(cwd);
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Arguments of each `squad` in a block, as bash reads them. No other program can be found, so nothing is run. */
  function commandsIn(block: string): string[][] {
    const record = join(folder, 'record');
    writeFileSync(record, '');
    const stubs = `PATH='${folder}'; command_not_found_handle() { :; }; squad() { [ $# -eq 0 ] || builtin printf '%s\\0' "$@" '\n' >>'${record}'; }`;
    // A file to read from would have to be there.
    const lines = block.replace(/ < [\w./-]+/g, '');
    spawnSync('bash', ['-c', `${stubs}\n${lines}`], { cwd, env: { PATH: process.env.PATH } });
    return readFileSync(record, 'utf8')
      .split('\0\n\0')
      .filter(Boolean)
      .map(words => words.split('\0'));
  }

  /** What is wrong with a command line; nothing is done. */
  async function problemOf(words: string[]): Promise<string | null> {
    // The relay takes these: the first has one option, the second is registered for its help alone.
    if (/^mcp( --toolsets \S+)?$|^mcp serve --config \S+$/.test(words.join(' '))) return null;
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

  test.each(DOCUMENTS.filter(path => shellBlocks(path).some(block => block.includes('squad '))))(
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

  test('a wrong one is found', async () => {
    expect(commandsIn('X=1 squad ls --ned | head')).toEqual([['ls', '--ned']]);
    expect(await problemOf(['ls', '--ned'])).toContain("unknown option '--ned'");
    expect(await problemOf(['run', '--permission', 'all', 'coder', 'x'])).toContain('Allowed choices');
    expect(await problemOf(['hub', 'halt'])).toContain("unknown command 'halt'");
  });
});

/** Squad as a command of bash, with scripted agents, and no program of others. */
function setUp(squad: TestSquad): void {
  squad.env.ENGINE_COMMAND = 'scripted';
  writeFileSync(join(squad.env.HOME!, '.gitconfig'), '[user]\nname = Ada\nemail = ada@example.com\n');
}

const STUBS = `
squad() {
  case "$1" in open) set -- "$@" --no-browser ;; esac
  '${process.execPath}' '${BIN}' "$@"
}
claude() { :; }; npx() { :; }; npm() { :; }
`;

const runInBash = (squad: TestSquad, lines: string) =>
  spawnSync('bash', ['-c', `${STUBS}\n${lines}`], {
    cwd: squad.workspace,
    env: squad.env,
    encoding: 'utf8',
    timeout: 55_000,
  });

describe('a person who types what it says gets to its end', () => {
  test.each([...TUTORIALS, 'docs/guides/ci.md'])('%s', async path => {
    await using squad = new TestSquad();
    setUp(squad);
    if (path.endsWith('ci.md')) makeRepository(squad);
    const { status, stdout, stderr } = runInBash(
      squad,
      // It may have moved its home.
      `set -eo pipefail; trap 'squad hub stop >/dev/null 2>&1' EXIT\n${shellBlocks(path).join('\n')}`,
    );
    expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' });
  });
});

describe('commands that stand alone', () => {
  const squad = new TestSquad();
  let values: Record<string, string>;
  beforeAll(async () => {
    setUp(squad);
    makeRepository(squad);
    mkdirSync(join(squad.workspace, '.squad'));
    await squad.unlimited();
    const code = Array.from({ length: 20 }, (_, at) => `| line ${at}`);
    const start = async (...steps: string[]) =>
      (await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', `Work.${script(...steps)}`])).runIds[0];
    const run = await start('write src/a.ts', ...code, 'report Done.');
    const asks = await start('ask "Which database?" sqlite postgres');
    await squad.run(['wait', run]);
    const items = () => squad.json<{ items: { id: string }[] }>(['inbox']);
    const ITEM = await until('it asks', async () => (await items()).items[0]?.id);
    values = { RUN: run, ITEM, '"text"': 'sqlite' };
    expect(await squad.statusOf(asks)).toBe('running');
  });
  afterAll(() => squad[Symbol.asyncDispose]());

  /** They ask for a confirmation, which needs a terminal. */
  const ASKS = /^squad (integrate|install)/;

  test.each(['README.md', 'docs/guides/commands.md'])(
    '%s',
    path => {
      const lines = shellBlocks(path)
        .flatMap(block => block.split('\n'))
        // `squad watch` lasts until Ctrl-C; the tutorial of reviews has it with a run.
        .filter(line => /^squad (?!watch)/.test(line))
        .map(line => line.replace(/\b(RUN|ITEM)\b|"text"/g, name => values[name]!));
      expect(lines.length).toBeGreaterThan(5);
      const problems = lines.flatMap(line => {
        const { status, stderr } = runInBash(squad, line);
        return status === (ASKS.test(line) ? 3 : 0) ? [] : [`${line}: exit code ${status}: ${stderr}`];
      });
      expect(problems).toEqual([]);
    },
    180_000,
  );
});
