import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it, test } from 'vitest';
import { answerHint } from '../src/cli/inbox/ask-text.ts';
import { blockedBy } from '../src/core/integration/checklist.ts';
import type { SquadError } from '../src/schema/error.ts';
import { shellWord } from '../src/schema/shell-word.ts';
import { errorOf } from '../src/workspace/subagents/findings.ts';
import { noRepository, refuseTaken } from '../src/workspace/worktrees/plan-worktree.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-words-'));
afterAll(() => rmSync(folder, { recursive: true }));

const HOSTILE = [
  '$(touch ran)',
  '`touch ran`',
  '"; touch ran; "',
  "'; touch ran; '",
  "it's",
  'a b',
  'a\ntouch ran\n',
  'a\r\ntouch ran',
  '; touch ran',
  '| touch ran',
  '& touch ran',
  '> ran',
  '~root',
  '*',
  '{a,b}',
  '!!\\',
  '\\',
  '-n',
  '',
  '\u001b[31m',
  '\u009d',
  '\u202ename',
  'naïve 名',
];

const bash = (script: string) => spawnSync('bash', ['-c', script], { cwd: folder, encoding: 'utf8' }).stdout;

describe('shellWord', () => {
  it.each(['coder', 'a/b.md:1', ...HOSTILE])(
    'comes out of a shell as it was, on one line: %j',
    { tags: ['commands-in-suggestions'] },
    word => {
      expect(shellWord(word)).not.toMatch(/[\n\r]/);
      expect(bash(`printf '%s' ${shellWord(word)}`)).toBe(word);
      expect(existsSync(join(folder, 'ran'))).toBe(false);
    },
  );

  it.each(HOSTILE.filter(word => !/\p{Cc}|\u202e/u.test(word)))('works in any POSIX shell: %j', word => {
    const { stdout } = spawnSync('sh', ['-c', `printf '%s' ${shellWord(word)}`], { encoding: 'utf8' });
    expect(stdout).toBe(word);
  });
});

/** Commands that Squad suggests, built from a name that somebody else chose. */
const ADVICE: Record<string, (name: string) => string | Promise<string>> = {
  'a file in conflict': name => {
    const branch = { runId: 'run_1', outcome: 'conflict', conflicts: [name], messages: [] };
    const facts = { target: 'main', branches: [branch], obstacles: [], untrustedCheck: null, check: null };
    return blockedBy(facts as never)!.suggestions![0]!;
  },
  'a target in conflict': name => {
    const branch = { runId: 'run_1', outcome: 'conflict', conflicts: ['a'], messages: [] };
    const facts = { target: name, branches: [branch], obstacles: [], untrustedCheck: null, check: null };
    return blockedBy(facts as never)!.suggestions![0]!;
  },
  'the file of a subagent': name => {
    const finding = { severity: 'error', path: '', line: 1, column: 1, message: 'wrong' } as const;
    const found = [{ ...finding, code: 'CONFIG_INVALID', suggestion: null } as const];
    return errorOf(name, found)
      .suggestions.at(-1)!
      .replace(/^.*?`(.*)`\.$/s, '$1');
  },
  'an id of a question': name => answerHint({ id: name as never, choices: [], fields: [] }),
  'a bare repository': async name => {
    const bare = join(folder, 'bare', name);
    for (const part of ['HEAD', 'objects', 'refs']) mkdirSync(join(bare, part), { recursive: true });
    const [advice] = (await noRepository(bare)).suggestions;
    return /`(git .*)`, then/s.exec(advice!)![1]!;
  },
  'the repository of a branch in the way': name => {
    try {
      refuseTaken('squad/coder/run_1', new Map([['refs/heads/squad', '1']]), name);
    } catch (thrown) {
      return (thrown as SquadError).suggestions[0]!.replace(/^.*?`(.*)`\.$/s, '$1');
    }
    throw new Error('It was not refused');
  },
  'choices of a question': () => answerHint({ id: 'q1' as never, choices: ['yes', 'touch'], fields: [] }),
};

describe.each(Object.entries(ADVICE))('a suggested command with %s', (_what, adviceFor) => {
  test.each(HOSTILE.filter(word => word !== ''))(
    'runs nothing of it, and hands it on as it is: %j',
    { tags: ['commands-in-suggestions'] },
    async name => {
      const command = await adviceFor(name);
      expect(command).toMatch(/^(squad|git) /);
      const said = bash(
        `squad() { printf '%s\\0' "$@"; }\ngit() { squad "$@"; }\ntouch() { :>ran; }\n${command}`,
      );
      expect(existsSync(join(folder, 'ran'))).toBe(false);
      if (command.includes('q1')) expect(said).toBe('answer\0q1\0yes|touch\0');
      else expect(said.split('\0').some(word => word.includes(name))).toBe(true);
    },
  );
});

/** Numbers and words of our own; each is known not to come from elsewhere. */
const OWN_WORDS = new Set([
  'depth',
  'days',
  'number',
  'starts',
  'more',
  'action',
  'key',
  'at',
  'named',
  'plan.client',
  'worktree.base',
  'runs.length',
  'asGiven(options)',
  'this.starts.length + count',
]);

test('every command in the sources quotes what it inserts', { tags: ['commands-in-suggestions'] }, () => {
  const root = resolve(import.meta.dirname, '..');
  const sources = ['src', 'web'].flatMap(part =>
    readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.tsx?$/.test(name) && !/\.test\.tsx?$|testing\//.test(name))
      .map(name => join(part, name)),
  );
  const COMMAND =
    /\b(?:squad [a-z-]+|git (?:-C|--git-dir|diff|switch|fetch|merge|branch|checkout|remote|symbolic-ref|push|stash)|chmod|cd|rm) (?:[\w.+:-]+ )*\$\{([^}]*)\}/g;
  const unquoted = sources.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(COMMAND)]
      .filter(
        ([, inserted]) =>
          !/^(shellWord\(|isShort \?|asks\.length === 1)/.test(inserted!) && !OWN_WORDS.has(inserted!),
      )
      .map(([command]) => `${file}: ${command}`),
  );
  expect(unquoted).toEqual([]);
});
