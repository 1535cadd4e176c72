import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../../process/testing/turn-fixture.ts';
import { WorkSnapshot } from '../../schema/evidence.ts';
import { Repository } from '../testing/repository.ts';
import { createWorkTree } from './changes.ts';

const made: Repository[] = [];
afterEach(() => {
  for (const each of made.splice(0)) each.remove();
});

function repository(...init: string[]): Repository {
  const repo = new Repository(...init);
  made.push(repo);
  return repo;
}

/** One with a first commit that holds `a.txt`, `b.txt` and `lib/c.txt`. */
function started(): Repository {
  const repo = repository();
  repo.write('a.txt', 'one\ntwo\n');
  repo.write('b.txt', 'bee\n');
  repo.write('lib/c.txt', 'sea\n');
  repo.commit('First');
  return repo;
}

/** Takes a snapshot, lets the run work, and says what it changed. */
async function changedBy(repo: Repository, work: () => void, directory = repo.root, branch?: string) {
  const tree = createWorkTree(repo.env);
  const { snapshot } = await tree.snapshot(directory);
  work();
  // As it comes back from where it is kept.
  const before = WorkSnapshot.parse(JSON.parse(JSON.stringify(snapshot)));
  const changes = await tree.changes(directory, before, { branch });
  return { ...changes, names: changes.files?.map(({ status, path }) => `${status} ${path}`) };
}

function commitFile(repo: Repository, path: string): void {
  repo.write(path, path);
  repo.commit(path);
}

/** Commits as Squad does on an agent's branch. */
function commitAsSquad(repo: Repository, subject: string): void {
  repo.git('add', '-A');
  repo.git('commit', '-qm', subject, '--author=Squad <squad@localhost>');
}

describe('commits of Squad on a branch', () => {
  test('for a reviewer is nobody’s work, there or taken out again', async () => {
    const repo = started();
    const given = await changedBy(repo, () => {
      repo.write('REVIEW_FEEDBACK.md', 'More.\n');
      commitAsSquad(repo, 'Feedback of review 1');
    });
    expect(given).toMatchObject({ names: [], commits: { count: 0, newest: [] } });
    expect(given.lines).toEqual({ insertions: 0, deletions: 0 });
    const taken = await changedBy(repo, () => {
      repo.delete('REVIEW_FEEDBACK.md');
      commitAsSquad(repo, 'Take it out');
    });
    expect(taken).toMatchObject({ names: [], commits: { count: 0, newest: [] } });
  });

  test('of uncommitted changes of the agent are work of the agent', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.append('a.txt', 'three\n');
      commitAsSquad(repo, 'Work for review 1');
      repo.write('REVIEW_FEEDBACK.md', 'More.\n');
      commitAsSquad(repo, 'Feedback of review 1');
    });
    expect(changes.names).toEqual(['M a.txt']);
    expect(changes.commits).toMatchObject({ count: 1, newest: [{ subject: 'Work for review 1' }] });
  });

  test('a file of that name that an agent wrote by itself is its work', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.write('REVIEW_FEEDBACK.md', 'Mine.\n');
      repo.commit('Mine');
    });
    expect(changes).toMatchObject({ names: ['A REVIEW_FEEDBACK.md'], commits: { count: 1 } });
  });
});

test('two commits can be compared without their folder', async () => {
  const repo = started();
  const from = repo.git('rev-parse', 'HEAD').trim();
  repo.append('a.txt', 'three\n');
  repo.delete('b.txt');
  repo.commit('Second');
  const tree = createWorkTree(repo.env);
  const to = repo.git('rev-parse', 'HEAD').trim();
  expect(await tree.commitChanges(repo.root, from, to)).toEqual({
    files: [
      { path: 'a.txt', status: 'M', isOutside: false },
      { path: 'b.txt', status: 'D', isOutside: false },
    ],
    lines: { insertions: 1, deletions: 1 },
  });
  const whole = await tree.commitDiff(repo.root, from, to, { maxBytes: 10_000 });
  expect(whole).toMatchObject({ isTruncated: false, text: expect.stringContaining('+three\n') });
  const cut = await tree.commitDiff(repo.root, from, to, { maxBytes: 60 });
  expect(cut).toEqual({ isTruncated: true, text: expect.stringMatching(/\n$/) });
  await expect(tree.commitDiff(repo.root, 'f'.repeat(40), to, { maxBytes: 9 })).rejects.toMatchObject({
    code: 'DIFF_UNAVAILABLE',
  });
});

describe('files', () => {
  test('changed, added, deleted and retyped ones count, committed or not', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.append('a.txt', 'three\n');
      repo.commit('Second');
      repo.delete('b.txt');
      repo.write('new.txt', 'x\ny');
      rmSync(repo.path('lib/c.txt'));
      symlinkSync('../a.txt', repo.path('lib/c.txt'));
    });
    expect(changes.names).toEqual(['M a.txt', 'D b.txt', 'T lib/c.txt', 'A new.txt']);
    expect(changes.lines).toEqual({ insertions: 1 + 2 + 1, deletions: 1 + 1 });
    expect(changes.commits).toMatchObject({ count: 1, newest: [{ subject: 'Second' }] });
    expect(changes.notes).toEqual([]);
  });

  test('nothing done is nothing changed', async () => {
    const changes = await changedBy(started(), () => {});
    expect(changes).toMatchObject({
      files: [],
      commits: { count: 0 },
      lines: { insertions: 0, deletions: 0 },
    });
  });

  test('lines that could not be counted are not none', async () => {
    const repo = started();
    const binary = await changedBy(repo, () => repo.write('b.bin', 'a\0b'));
    expect(binary).toMatchObject({ names: ['A b.bin'], lines: null });
    const both = await changedBy(repo, () => {
      repo.write('c.bin', 'a\0b');
      repo.append('a.txt', 'three\n');
    });
    expect(both.lines).toEqual({ insertions: 1, deletions: 0 });
  });

  test('lines of some files do not pass for those of all', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.write('large.txt', 'a line\n'.repeat(200_000));
      repo.write('small.txt', 'one\n');
    });
    expect(changes).toMatchObject({ names: ['A large.txt', 'A small.txt'], lines: null });
    expect(changes.notes).toEqual([
      '1 of the new files could not be read to count their lines: too large, or too many in all',
    ]);
  });

  test('the team files that Squad keeps in the workspace are nobody’s work, and others beside them are', async () => {
    const repo = started();
    const tree = createWorkTree(repo.env);
    const { snapshot } = await tree.snapshot(repo.root);
    for (const name of ['CONTEXT.md', 'IAC.md', 'DECISIONS.md']) repo.write(`.squad/${name}`, 'words\n');
    const place = { workspace: repo.root };
    expect(await tree.changes(repo.root, snapshot!, place)).toMatchObject({
      files: [{ path: '.squad/DECISIONS.md' }],
      lines: { insertions: 1, deletions: 0 },
    });
    const { text } = await tree.diff(repo.root, snapshot!, { ...place, maxBytes: 10_000 });
    expect(text).toContain('.squad/DECISIONS.md');
    expect(text).not.toContain('CONTEXT.md');
    // In a work tree of its own they are what the agent made of them.
    const elsewhere = await tree.changes(repo.root, snapshot!, { workspace: `${repo.root}-workspace` });
    expect(elsewhere.files).toHaveLength(3);
  });

  test('a file that was dirty counts only if it was touched again', async () => {
    const repo = started();
    repo.append('a.txt', 'mine\n');
    repo.append('b.txt', 'mine\n');
    repo.write('draft.txt', 'mine\n');
    repo.write('notes.txt', 'mine\n');
    repo.delete('lib/c.txt');
    const changes = await changedBy(repo, () => {
      repo.append('b.txt', 'theirs\n');
      repo.append('notes.txt', 'theirs\n');
    });
    expect(changes.names).toEqual(['M b.txt', 'M notes.txt']);
    expect(changes.notes).toEqual([
      '2 of the files had uncommitted changes before the run: their lines are not counted',
    ]);
    expect(changes.lines).toBeNull();
  });

  test('a changed file with its old content again does not count, nor one with only a new date', async () => {
    const repo = started();
    repo.append('a.txt', 'mine\n');
    const changes = await changedBy(repo, () => {
      const held = repo.read('a.txt');
      repo.write('a.txt', 'something else');
      repo.write('a.txt', held);
      utimesSync(repo.path('b.txt'), 1, 1);
    });
    expect(changes.names).toEqual([]);
  });

  test('a clean file that was put back does not count', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.append('a.txt', 'no\n');
      repo.git('checkout', '-q', 'a.txt');
    });
    expect(changes.names).toEqual([]);
  });

  test("the user's uncommitted work thrown away counts, and committed unchanged does not", async () => {
    const repo = started();
    repo.append('a.txt', 'mine\n');
    repo.append('b.txt', 'mine\n');
    repo.write('draft.txt', 'mine\n');
    const changes = await changedBy(repo, () => {
      repo.git('checkout', '-q', 'a.txt');
      repo.delete('draft.txt');
      repo.commit('All of it');
    });
    expect(changes.names).toEqual(['M a.txt', 'D draft.txt']);
    expect(changes.commits?.count).toBe(1);
  });

  test('a file that was deleted before and is back counts as added', async () => {
    const repo = started();
    repo.delete('a.txt');
    expect((await changedBy(repo, () => repo.write('a.txt', 'new'))).names).toEqual(['A a.txt']);
  });

  test('files outside the folder of the agent are marked', async () => {
    const repo = started();
    const work = () => {
      repo.append('a.txt', 'x\n');
      repo.append('lib/c.txt', 'x\n');
      repo.write('library.txt', 'x\n');
    };
    expect((await changedBy(repo, work, repo.path('lib'))).files).toEqual([
      { status: 'M', path: 'a.txt', isOutside: true },
      { status: 'M', path: 'lib/c.txt', isOutside: false },
      { status: 'A', path: 'library.txt', isOutside: true },
    ]);
  });

  test('ignored ones are not seen', async () => {
    const repo = started();
    repo.write('.gitignore', 'out/\n');
    repo.commit('Ignore');
    expect((await changedBy(repo, () => repo.write('out/x', 'x'))).names).toEqual([]);
  });

  test('names with line ends, quotes, and bytes that are no text come through', async () => {
    const repo = started();
    const strange = Buffer.from('bytes-\xff\xfe', 'latin1');
    const inRoot = Buffer.concat([Buffer.from(`${repo.root}/`), strange]);
    writeFileSync(inRoot, 'before');
    repo.write('two\nlines', 'before');
    const changes = await changedBy(repo, () => {
      writeFileSync(inRoot, 'after, and longer');
      repo.write('two\nlines', 'after, and longer');
      repo.write('say "hi"', 'x');
      repo.write('grüße 文.txt', 'x');
    });
    expect(changes.names?.sort()).toEqual([
      'A "say \\"hi\\""',
      'A grüße 文.txt',
      'M "bytes-\\377\\376"',
      'M "two\\nlines"',
    ]);
  });

  test('ten thousand dirty files are distinguished', async () => {
    const repo = started();
    for (let n = 0; n < 10_000; n++) repo.write(`many/${n % 50}/${n}.txt`, `${n}`);
    const changes = await changedBy(repo, () => {
      repo.write('many/7/7.txt', 'changed');
      repo.write('many/new.txt', 'x');
    });
    expect(changes.names).toEqual(['M many/7/7.txt', 'A many/new.txt']);
  });

  test('a link is compared, not followed; pipes and huge files are not read', async () => {
    const repo = started();
    symlinkSync('/nowhere', repo.path('link'));
    repo.append('b.txt', 'mine\n');
    const changes = await changedBy(repo, () => {
      rmSync(repo.path('link'));
      symlinkSync('/elsewhere', repo.path('link'));
      repo.write('big.bin', Buffer.alloc(20 * 1024 * 1024));
      for (const name of ['a.txt', 'b.txt']) {
        repo.delete(name);
        execFileSync('mkfifo', [repo.path(name)]);
      }
      execFileSync('mkfifo', [repo.path('pipe')]);
    });
    expect(changes.names).toEqual(['M a.txt', 'M b.txt', 'A big.bin', 'M link']);
    expect(changes.lines).toBeNull();
    expect(changes.notes).toEqual(['lines could not be counted (git failed: cannot hash a.txt)']);
  });
});

describe('commits', () => {
  test('are counted whole and named up to five, newest first', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      for (let n = 1; n <= 7; n++) repo.commit(`Number ${n}`);
    });
    expect(changes.commits?.count).toBe(7);
    expect(changes.commits?.newest.map(({ subject }) => subject)).toEqual(
      [7, 6, 5, 4, 3].map(n => `Number ${n}`),
    );
    expect(repo.git('rev-parse', 'HEAD')).toContain(changes.commits!.newest[0]!.id);
  });

  test('made on another branch and left there count', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.git('checkout', '-q', '-b', 'side');
      repo.write('side.txt', 'x\n');
      repo.commit('On the side');
      repo.git('checkout', '-q', 'main');
    });
    expect(changes.commits).toMatchObject({ count: 1, newest: [{ subject: 'On the side' }] });
    expect(changes.names).toEqual([]);
    expect(changes.notes).toEqual([]);
  });

  test('of a run with a branch of its own count only on that branch', {
    tags: ['git-variables-of-a-hook'],
  }, async () => {
    const repo = started();
    repo.git('switch', '-qc', 'own');
    const there = await changedBy(repo, () => commitFile(repo, 'x.txt'), repo.root, 'own');
    expect(there).toMatchObject({ commits: { count: 1 }, notes: [] });
    expect(there.isElsewhere).toBeUndefined();
    const left = await changedBy(
      repo,
      () => {
        repo.git('switch', '-qc', 'other');
        commitFile(repo, 'y.txt');
        repo.git('switch', '-q', 'own');
      },
      repo.root,
      'own',
    );
    expect(left).toMatchObject({
      commits: { count: 0, newest: [] },
      notes: ["1 commit made during the run is not on the run's branch own, and not counted"],
    });
    expect(left.isElsewhere).toBeUndefined();
  });

  test('of a run that ends on another branch than its own, as files there, are elsewhere', async () => {
    const repo = started();
    repo.git('switch', '-qc', 'own');
    const away = await changedBy(
      repo,
      () => {
        repo.git('switch', '-qc', 'other');
        commitFile(repo, 'y.txt');
        repo.git('branch', '-qD', 'own');
      },
      repo.root,
      'own',
    );
    expect(away).toMatchObject({ isElsewhere: true, commits: { count: 0 } });
    expect(away.notes).toContain("the work tree is on other, not on the run's branch own");
  });

  test('older ones that a switch of branch brings in do not, and the switch is reported', async () => {
    const repo = started();
    repo.git('checkout', '-q', '-b', 'side');
    repo.write('side.txt', 'x\n');
    repo.commit('Old');
    makeOlder(repo);
    repo.git('checkout', '-q', 'main');
    const changes = await changedBy(repo, () => repo.git('checkout', '-q', 'side'));
    expect(changes.commits).toEqual({ count: 0, newest: [] });
    expect(changes.names).toEqual(['A side.txt']);
    expect(changes.notes).toEqual(['switched from main to side']);
  });

  test('a rewritten one counts as made, and the rewrite is reported', async () => {
    const repo = started();
    const first = repo.git('rev-parse', 'HEAD').slice(0, 8);
    const changes = await changedBy(repo, () => {
      repo.append('a.txt', 'x\n');
      repo.git('commit', '-q', '-a', '--amend', '-m', 'First again');
    });
    expect(changes.commits).toMatchObject({ count: 1, newest: [{ subject: 'First again' }] });
    expect(changes.names).toEqual(['M a.txt']);
    expect(changes.notes).toEqual([`history was rewritten: ${first} is no longer part of it`]);
  });

  test('reset away, amended or rebased ones do not count, and that is noted', async () => {
    const repo = started();
    const reset = await changedBy(repo, () => {
      repo.write('new.txt', 'x\n');
      repo.commit('Gone');
      repo.git('reset', '-q', '--hard', 'HEAD~1');
    });
    expect(reset).toMatchObject({ names: [], commits: { count: 0, newest: [] } });
    expect(reset.notes).toEqual([expect.stringContaining('1 commit made during the run is on no branch')]);
    const amended = await changedBy(repo, () => {
      repo.append('a.txt', 'x\n');
      repo.commit('Draft');
      repo.git('commit', '-q', '--amend', '-m', 'Final');
    });
    expect(amended.commits).toMatchObject({ count: 1, newest: [{ subject: 'Final' }] });
  });

  test('on a branch that the run left again count', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.git('checkout', '-q', '-b', 'side');
      repo.commit('On the side');
      repo.git('checkout', '-q', 'main');
    });
    expect(changes.commits).toMatchObject({ count: 1, newest: [{ subject: 'On the side' }] });
    expect(changes.notes).toEqual([]);
  });

  test('taken back without touching files change nothing else', async () => {
    const repo = started();
    repo.append('a.txt', 'x\n');
    repo.commit('Second');
    const changes = await changedBy(repo, () => repo.git('reset', '-q', '--mixed', 'HEAD~1'));
    expect(changes.names).toEqual([]);
    expect(changes.commits?.count).toBe(0);
    expect(changes.notes[0]).toContain('history was rewritten');
  });
});

describe('work that git is set to hide', () => {
  const seen: Record<string, [string[], (repo: Repository) => void]> = {
    'a change behind assume-unchanged': [
      ['M a.txt'],
      repo => {
        repo.git('update-index', '--assume-unchanged', 'a.txt');
        repo.append('a.txt', 'hidden\n');
      },
    ],
    'a change behind skip-worktree': [
      ['M a.txt'],
      repo => {
        repo.git('update-index', '--skip-worktree', 'a.txt');
        repo.append('a.txt', 'hidden\n');
      },
    ],
    'a deletion behind assume-unchanged': [
      ['D a.txt'],
      repo => {
        repo.git('update-index', '--assume-unchanged', 'a.txt');
        repo.delete('a.txt');
      },
    ],
    'a new file that .git/info/exclude hides': [
      ['A secret/new.txt'],
      repo => {
        repo.append('.git/info/exclude', 'secret/\n');
        repo.write('secret/new.txt', 'hidden\n');
      },
    ],
    'a new file that core.excludesFile hides': [
      ['A secret/new.txt'],
      repo => {
        writeFileSync(join(repo.folder, 'rules'), 'secret/\n');
        repo.git('config', 'core.excludesFile', join(repo.folder, 'rules'));
        repo.write('secret/new.txt', 'hidden\n');
      },
    ],
    'a new file that the user’s own ignore file hides': [
      ['A secret/new.txt'],
      repo => {
        mkdirSync(join(repo.env.HOME, '.config/git'), { recursive: true });
        writeFileSync(join(repo.env.HOME, '.config/git/ignore'), 'secret/\n');
        repo.write('secret/new.txt', 'hidden\n');
      },
    ],
  };
  test.each(Object.entries(seen))('%s is seen', async (_, [names, work]) => {
    const repo = started();
    const changes = await changedBy(repo, () => work(repo));
    expect(changes.names).toEqual(names);
    expect(changes.lines).not.toBeNull();
  });

  test('is in the diff', async () => {
    const repo = started();
    const tree = createWorkTree(repo.env);
    const { snapshot } = await tree.snapshot(repo.root);
    repo.git('update-index', '--skip-worktree', 'a.txt');
    repo.append('a.txt', 'hidden\n');
    const { text } = await tree.diff(repo.root, snapshot!, { maxBytes: 10_000 });
    expect(text).toContain('+hidden');
  });

  test('and was hidden before the run is not the run’s, unless the run changes it', {
    tags: ['F1'],
  }, async () => {
    const hidden = () => {
      const repo = started();
      for (const [flag, file] of [
        ['--assume-unchanged', 'a.txt'],
        ['--skip-worktree', 'b.txt'],
      ] as const) {
        repo.git('update-index', flag, file);
        repo.append(file, 'the user’s\n');
      }
      repo.append('.git/info/exclude', 'notes/\n');
      repo.write('notes/mine.txt', 'the user’s\n');
      return repo;
    };
    expect((await changedBy(hidden(), () => {})).names).toEqual([]);
    const repo = hidden();
    expect((await changedBy(repo, () => repo.append('b.txt', 'more\n'))).names).toEqual(['M b.txt']);
    const uncovered = hidden();
    const changes = await changedBy(uncovered, () => uncovered.write('.git/info/exclude', ''));
    expect(changes.names).toEqual([]);
  });

  test('is looked up once for each state of the index', { tags: ['F1'] }, async () => {
    const repo = started();
    const log = join(repo.folder, 'calls');
    const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    mkdirSync(join(repo.folder, 'bin'));
    const counting = `#!/bin/sh\necho "$*" >>'${log}'\nexec '${real}' "$@"\n`;
    writeFileSync(join(repo.folder, 'bin', 'git'), counting, { mode: 0o755 });
    const env = { ...repo.env, PATH: `${join(repo.folder, 'bin')}:${repo.env.PATH}` };
    const lists = () => readFileSync(log, 'utf8').match(/ls-files -v/g)?.length ?? 0;
    const dirty = async () => {
      // A younger index could change again within the same tick of the clock.
      const index = repo.path('.git/index');
      await until(() => Date.now() - statSync(index).ctimeMs > 200, 'an index that is not new');
      return (await createWorkTree(env).snapshot(repo.root)).snapshot!.dirty.map(({ path }) => path);
    };
    repo.git('update-index', '--assume-unchanged', 'a.txt');
    expect([await dirty(), await dirty(), lists()]).toEqual([['a.txt'], ['a.txt'], 1]);
    repo.git('update-index', '--skip-worktree', 'b.txt');
    expect([await dirty(), await dirty(), lists()]).toEqual([['a.txt', 'b.txt'], ['a.txt', 'b.txt'], 2]);
  });

  test('files below a new .gitignore that ignores itself are noted', async () => {
    const repo = started();
    repo.write('cache/.gitignore', '*\n');
    // A younger file could count as changed since the snapshot.
    const old = repo.path('cache/.gitignore');
    await until(() => Date.now() - statSync(old).ctimeMs > 200, 'a file that is not new');
    const changes = await changedBy(repo, () => {
      repo.write('cache/more.txt', 'x\n');
      repo.write('secret/.gitignore', '*\n');
      repo.write('secret/new.txt', 'hidden\n');
    });
    expect(changes.names).toEqual([]);
    expect(changes.notes).toEqual([
      '1 new or changed .gitignore file is itself ignored (secret/.gitignore): new files that it hides are not counted',
    ]);
  });

  test('files that skip-worktree keeps out of the folder since the run began are noted', async () => {
    const repo = started();
    const changes = await changedBy(repo, () => {
      repo.git('update-index', '--skip-worktree', 'a.txt');
      repo.delete('a.txt');
    });
    expect(changes.notes).toEqual([expect.stringContaining('1 file is kept out of the folder')]);
    const sparse = started();
    sparse.git('sparse-checkout', 'set', '--no-cone', 'lib');
    expect((await changedBy(sparse, () => {})).notes).toEqual([]);
  });
});

describe('repositories of every kind', () => {
  test('without a commit yet', async () => {
    const repo = repository();
    repo.write('mine.txt', 'x\n');
    const changes = await changedBy(repo, () => {
      repo.write('new.txt', 'a\nb\n');
      repo.commit('The first');
    });
    expect(changes.names).toEqual(['A new.txt']);
    expect(changes.lines).toEqual({ insertions: 2, deletions: 0 });
    expect(changes.commits).toMatchObject({ count: 1 });
  });

  test('without a commit, with ids of the longer kind', async () => {
    const repo = repository('--object-format=sha256');
    expect((await changedBy(repo, () => repo.write('new.txt', 'a\n'))).names).toEqual(['A new.txt']);
  });

  test('with a detached HEAD', async () => {
    const repo = started();
    repo.git('checkout', '-q', '--detach');
    const changes = await changedBy(repo, () => repo.commit('Loose'));
    expect(changes.commits?.count).toBe(1);
    expect(changes.notes).toEqual([]);
  });

  test('a linked work tree knows its own commits, not those of its siblings', async () => {
    const repo = started();
    const linked = join(repo.folder, 'linked');
    repo.git('worktree', 'add', '-q', '-b', 'other', linked);
    const changes = await changedBy(
      repo,
      () => {
        repo.append('a.txt', 'sibling\n');
        repo.commit('Of the sibling');
        writeFileSync(join(linked, 'b.txt'), 'mine\n');
        repo.git('-C', linked, 'commit', '-q', '-a', '-m', 'Mine');
      },
      linked,
    );
    expect(changes.names).toEqual(['M b.txt']);
    expect(changes.commits).toMatchObject({ count: 1, newest: [{ subject: 'Mine' }] });
  });

  test('a submodule is not entered; that it is at another commit is seen', async () => {
    const inner = started();
    const repo = started();
    repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'sub');
    repo.commit('With a submodule');
    expect((await changedBy(repo, () => repo.write('sub/a.txt', 'x'))).names).toEqual([]);
    const moved = await changedBy(repo, () => {
      repo.git(
        '-C',
        'sub',
        '-c',
        'user.name=T',
        '-c',
        'user.email=t@t',
        'commit',
        '-q',
        '--allow-empty',
        '-m',
        'x',
      );
    });
    expect(moved.names).toEqual(['M sub']);
  });

  test('a lock that somebody left does not matter', async () => {
    const repo = started();
    repo.write('.git/index.lock', '');
    const changes = await changedBy(repo, () => repo.append('a.txt', 'x\n'));
    expect(changes.names).toEqual(['M a.txt']);
  });

  test('nothing is written into the repository', async () => {
    const repo = started();
    utimesSync(repo.path('a.txt'), 5, 5);
    const index = readFileSync(repo.path('.git/index'));
    await changedBy(repo, () => {});
    expect(readFileSync(repo.path('.git/index')).equals(index)).toBe(true);
  });
});

describe('a failure of git is reported as the answer', () => {
  test('no repository, a bare one, an empty .git', async () => {
    const repo = started();
    const tree = createWorkTree(repo.env);
    const none = { snapshot: null, why: 'not a git repository' };
    expect(await tree.snapshot(repo.folder)).toEqual(none);
    repo.git('clone', '-q', '--bare', repo.root, join(repo.folder, 'bare.git'));
    expect(await tree.snapshot(join(repo.folder, 'bare.git'))).toEqual(none);
    mkdirSync(join(repo.folder, 'empty/.git'), { recursive: true });
    expect(await tree.snapshot(join(repo.folder, 'empty'))).toEqual(none);
  });

  test('a repository that broke or went away', async () => {
    const repo = started();
    const tree = createWorkTree(repo.env);
    const before = (await tree.snapshot(repo.root)).snapshot!;
    renameSync(repo.path('.git/objects'), repo.path('.git/elsewhere'));
    expect(await tree.changes(repo.root, before)).toMatchObject({
      files: null,
      notes: ['not a git repository'],
    });
    rmSync(repo.path('.git'), { recursive: true });
    expect(await tree.changes(repo.root, before)).toMatchObject({
      files: null,
      notes: ['not a git repository'],
    });
    rmSync(repo.root, { recursive: true });
    expect(await tree.changes(repo.root, before)).toMatchObject({ files: null, commits: null });
    await expect(tree.diff(repo.root, before, { maxBytes: 1000 })).rejects.toMatchObject({
      code: 'DIFF_UNAVAILABLE',
    });
  });

  test('another repository in the place of the old one', async () => {
    const repo = started();
    const tree = createWorkTree(repo.env);
    const before = (await tree.snapshot(repo.root)).snapshot!;
    rmSync(repo.path('.git'), { recursive: true });
    repo.git('init', '-q');
    const { files, notes } = await tree.changes(repo.root, before);
    expect(files).toBeNull();
    expect(notes[0]).toMatch(/^git failed: bad object/);
  });

  test('no git at all', async () => {
    const repo = started();
    const tree = createWorkTree({ PATH: repo.folder });
    expect(await tree.snapshot(repo.root)).toEqual({
      snapshot: null,
      why: 'git is not installed, or the folder is gone',
    });
  });

  test('an asker that gives up', async () => {
    const repo = started();
    const why = 'git was cancelled';
    expect(await createWorkTree(repo.env).snapshot(repo.root, AbortSignal.abort())).toEqual({
      snapshot: null,
      why,
    });
  });
});

/** Gives the newest commit a date of long ago. */
function makeOlder(repo: Repository): void {
  const old = repo.git('cat-file', 'commit', 'HEAD').replaceAll(/> \d+ /g, '> 1000000000 ');
  writeFileSync(join(repo.folder, 'commit'), old);
  const id = repo.git('hash-object', '-t', 'commit', '-w', join(repo.folder, 'commit')).trim();
  repo.git('reset', '-q', '--soft', id);
}
