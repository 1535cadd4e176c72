import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { refuseProjectCommands } from '../../engines/project-commands.ts';
import { readRole } from '../roles/roles.ts';
import { readConfigFiles } from '../settings/config-files.ts';
import { readOutputSchema } from '../settings/open-workspace.ts';
import { readSubagent } from '../subagents/subagent-file.ts';
import {
  hostileReaders,
  KIB,
  putFile,
  type Reader,
  readHostile,
  SHAPES,
  times,
  trusted,
} from '../testing/hostile-readers.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-hostile-'));
const home = mkdtempSync(join(tmpdir(), 'squad-hostile-home-'));
afterAll(() => {
  for (const folder of [root, home]) rmSync(folder, { recursive: true });
});

const roles = { directory: join(root, 'agents'), from: 'workspace', why: '', charters: false } as const;
const READERS = hostileReaders(root, home);

/** Modules that read files and parse nothing that came with a repository, each with the reason. */
const OTHERS: Record<string, string> = {
  'files/text-file': 'reads for others',
  'worktrees/branch-file': 'bytes that are compared, copied, and stored by git',
  'worktrees/save-work': 'refs and logs in the folder of git',
  'evidence/changes': 'hashes at most 1 MiB of a file',
  'evidence/compare': 'hashes what the snapshot hashed',
  'git/git-status': 'two files of at most 1 MiB, split into lines',
  'git/git-folder': 'one line of a `.git` file',
  'git/private-git': 'one search in a file of at most 1 MiB',
  'worktrees/ensure-worktree': 'one search in a file of at most 1 MiB',
  'git/git-index': 'the index of git, copied',
  'git/index-lock': 'a lock of our own making',
  'files/file-lock': 'a file of our own',
  'worktrees/worktree-place': 'lists of our own in the folder of git',
  'worktrees/plan-worktree': 'notes of our own in the folder of git',
  'worktrees/removal-checks': 'one line of a `.git` file',
  'worktrees/agent-git':
    'files of our own in the home, and a list of paths of at most 1 MiB in the folder of git',
  'worktrees/collect-commits': 'a pack that git has written, given to git',
  'worktrees/confine-git': 'files of the folder of git, copied',
  'runs/confine-turn': "the user's own login, copied",
  'settings/trust': 'a file in the home',
  'settings/change-config': 'a file that the user asks to change, with the limit of its reader',
  'cost/price-file': 'a file in the home',
  '../engines/gemini/project-commands': 'by `readProjectText`, one search',
  '../engines/qwen/qwen-command': "the user's own file",
  '../engines/claude/claude-command': "the user's own file",
  '../engines/codex/user-config': "the user's own file; that of a project by `readProjectText`, one search",
  '../engines/gemini/gemini-settings': "the user's own file",
  '../engines/gemini/gemini-chats': 'a chat of the user that the user continues, copied',
  '../engines/copilot/copilot-command': "the user's own file",
  '../engines/opencode/user-config': "the user's own file",
  '../engines/program-versions': 'a file in the home',
};

/** CPU time of all threads of this process, in milliseconds. The least of some counts, because neither a collection nor the start of the reader thread may. */
async function cpuOf(reader: Reader): Promise<number> {
  const before = process.cpuUsage();
  await readHostile(reader);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const QUARTER_ROUNDS = 3;
/** For a file that seems to take too long. */
const MAX_ROUNDS = 10;
/** Below it, other work of the process decides. */
const NOISE_MS = 10;
/** Four times the size is four times the work where it grows in proportion, sixteen times where each part is compared with each other. */
const MAX_GROWTH = 9;

describe.each(Object.entries(READERS))('%s', (_what, reader) => {
  const { file, kind, most } = reader;
  test.each(Object.entries(SHAPES[kind]))(
    'of any size takes time in proportion to it: %s',
    { tags: ['files-that-take-long-to-read'] },
    async (_shape, of) => {
      const cpu = async (size: number, rounds: number, enough = 0) => {
        putFile(root, file, of(size).slice(0, size));
        let least = Number.POSITIVE_INFINITY;
        for (let round = 0; round < rounds && least >= enough; round++)
          least = Math.min(least, await cpuOf(reader));
        return least;
      };
      let all = await cpu(most, 1);
      let quarter = NOISE_MS;
      if (all >= MAX_GROWTH * quarter) {
        // The reader's code is compiled by now, as it is when all is read again.
        quarter = Math.max(NOISE_MS, await cpu(most / 4, QUARTER_ROUNDS));
        if (all >= MAX_GROWTH * quarter) all = await cpu(most, MAX_ROUNDS, MAX_GROWTH * quarter);
      }
      rmSync(join(root, file));
      expect(all, `CPU for ${most / 4} and ${most} bytes: ${quarter}, ${all} ms`).toBeLessThan(
        MAX_GROWTH * quarter,
      );
    },
  );
});

describe('a file beyond its bound is refused with its name, the bound and what to do', () => {
  const put = (file: string, text: string) => putFile(root, file, text);

  test.each([
    ['20,000 keys', times(index => `k${index}: 1\n`, 200 * KIB), 'characters; at most 16384 are read'],
    ['many lines', 'a: 1\n'.repeat(501), 'more than 500 lines'],
    ['many brackets', `a: ${'['.repeat(51)}`, 'more than 50 open brackets'],
    [
      'many aliases',
      `a: &a 1\n${times(index => `b${index}: *a\n`, 600)}`,
      'more than 50 anchors and aliases',
    ],
    ['deep indentation', `a:\n${' '.repeat(201)}b: 1`, 'more than 200 columns'],
    ['pairs in pairs', `a: [${'a: b: '.repeat(1_350)}]`, 'nests values too deeply'],
  ])('a head with %s', { tags: ['files-that-take-long-to-read'] }, async (_what, head, bound) => {
    put('agents/hostile.md', `---\n${head}\n---\nbody`);
    await expect(readRole(roles, 'hostile', trusted)).rejects.toMatchObject({
      code: 'ROLE_INVALID',
      message: expect.stringMatching(new RegExp(`${join(root, 'agents/hostile.md')}.*${bound}.*shorter`)),
    });
  });

  test('settings', async () => {
    put('.squad/squad.json', `{${' '.repeat(64 * KIB)}}`);
    await expect(readConfigFiles({ workspace: root, home, env: {} })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${join(root, '.squad/squad.json')} is 65538 bytes; at most 65536 are read.`,
      suggestions: [expect.any(String)],
    });
    rmSync(join(root, '.squad/squad.json'));
  });

  test('a subagent, at the line where it is too much', async () => {
    put('x.cpe.yaml', `a: 1\n${'['.repeat(201)}`);
    await expect(readSubagent(join(root, 'x.cpe.yaml'), {})).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('x.cpe.yaml:2:201: the file has more than 200 open brackets'),
    });
  });

  test('a schema', async () => {
    put('schema.json', `{${' '.repeat(256 * KIB)}}`);
    await expect(readOutputSchema(root, 'schema.json')).rejects.toMatchObject({
      code: 'SCHEMA_INVALID',
      message: expect.stringMatching(/schema\.json is larger than 262144 bytes/),
    });
    const patterns = Array.from({ length: 501 }, (_, index) => [`^k${index}$`, {}]);
    put('schema.json', JSON.stringify({ type: 'object', patternProperties: Object.fromEntries(patterns) }));
    await expect(readOutputSchema(root, 'schema.json')).rejects.toMatchObject({
      code: 'SCHEMA_INVALID',
      message: expect.stringContaining('more than 500 patterns'),
    });
  });

  test('settings of an agent CLI, which the CLI would read', () => {
    put('.claude/settings.json', `{${' '.repeat(256 * KIB)}"hooks": {}}`);
    const settings = {
      cli: 'A CLI',
      program: 'cli',
      files: ['.claude/settings.json'],
      isTrusted: () => false,
    };
    expect(() => refuseProjectCommands(root, { ...settings, runsCommands: /"(hooks)"/ })).toThrow(
      /\.claude\/settings\.json .*at most 262144 are read/,
    );
  });
});

/** Whoever adds a reader finds out here that it must keep to the bounds. */
test('every module that reads files is in one of the two tables', {
  tags: ['files-that-take-long-to-read'],
}, () => {
  const READS =
    /\b(readTextFile|readSmallFile|readTeamText|readTeamBytes|readTeamFile|readBounded|readFrom|readPlainFile|readFolderFile|readInside|readProjectText|readText|readWorkFile|hashWorkFile|readFileSync|readFile|createReadStream)\(/;
  const folders = {
    '': resolve(import.meta.dirname, '..'),
    '../engines/': resolve(import.meta.dirname, '../../engines'),
  };
  const found = Object.entries(folders).flatMap(([prefix, folder]) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => /^(?!.*(\.test\.ts$|testing\/|fixtures\/|^scripted\/)).*\.ts$/.test(name))
      .filter(name => READS.test(readFileSync(join(folder, name), 'utf8')))
      .map(name => `${prefix}${name.slice(0, -'.ts'.length)}`),
  );
  const known = [...Object.values(READERS).flatMap(reader => reader.in), ...Object.keys(OTHERS)];
  expect(found.filter(name => !known.includes(name))).toEqual([]);
  expect(known.filter(name => !found.includes(name))).toEqual([]);
});
