import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createWorkTree } from '../evidence/changes.ts';
import { Repository } from '../testing/repository.ts';
import { openGit } from './git.ts';

let repo: Repository;
afterEach(() => repo.remove());

/** Every way a repository can name a program, each set to leave a mark. */
function trapped(): { tripped: () => boolean; run: string } {
  repo = new Repository();
  const mark = join(repo.folder, 'tripped');
  const script = join(repo.folder, 'trap.sh');
  writeFileSync(script, `#!/bin/sh\necho "$0 $*" >>${mark}\ncat\n`);
  chmodSync(script, 0o755);
  repo.write('a.txt', 'one\n');
  repo.write('b.bin', 'two\n');
  repo.write('sub/c.txt', 'three\n');
  repo.commit('First');
  return { tripped: () => existsSync(mark), run: script };
}

async function everything(directory: string): Promise<string> {
  const tree = createWorkTree(repo.env);
  const before = (await tree.snapshot(directory)).snapshot!;
  repo.append('a.txt', 'changed\n');
  repo.append('b.bin', 'changed\n');
  repo.write('new.txt', 'new\n');
  repo.write('c.txt', 'new\n');
  const changes = await tree.changes(directory, before);
  expect(changes.files?.length).toBeGreaterThan(0);
  return (await tree.diff(directory, before, { maxBytes: 100_000 })).text;
}

describe('nothing that a repository names is run', { tags: ['programs-that-git-would-run'] }, () => {
  const plants: Record<string, (run: string) => void> = {
    'a file system monitor': run => void repo.git('config', 'core.fsmonitor', run),
    hooks: run => {
      for (const hook of ['post-index-change', 'reference-transaction', 'post-checkout', 'pre-commit']) {
        writeFileSync(repo.path(`.git/hooks/${hook}`), `#!/bin/sh\n${run}\n`);
        chmodSync(repo.path(`.git/hooks/${hook}`), 0o755);
      }
    },
    'a folder of hooks': run => {
      mkdirSync(repo.path('.git/traps'));
      writeFileSync(repo.path('.git/traps/post-index-change'), `#!/bin/sh\n${run}\n`);
      chmodSync(repo.path('.git/traps/post-index-change'), 0o755);
      repo.git('config', 'core.hooksPath', repo.path('.git/traps'));
    },
    'a filter': run => {
      repo.git('config', 'filter.trap.clean', run);
      repo.git('config', 'filter.trap.smudge', run);
      repo.git('config', 'filter.trap.required', 'true');
      repo.write('.git/info/attributes', '* filter=trap\n');
    },
    'a filter that stays open': run => {
      repo.git('config', 'filter.a b.process', run);
      repo.git('config', 'filter.a b.required', 'true');
      repo.write('.git/info/attributes', '* filter="a b"\n*.txt filter=a\n');
      repo.git('config', 'filter.a.clean', run);
    },
    'a filter from an included file': run => {
      repo.write('.git/more', `[filter "trap"]\n\tclean = ${run}\n\trequired = true\n`);
      repo.git('config', 'include.path', 'more');
      repo.write('.git/info/attributes', '* filter=trap\n');
    },
    'a filter of one work tree': run => {
      repo.git('config', 'extensions.worktreeConfig', 'true');
      repo.git('config', '--worktree', 'filter.trap.clean', run);
      repo.write('.git/info/attributes', '* filter=trap\n');
    },
    'an external diff': run => {
      repo.git('config', 'diff.external', run);
      repo.git('config', 'diff.trap.command', run);
      repo.git('config', 'diff.trap.textconv', run);
      repo.write('.git/info/attributes', '* diff=trap\n');
    },
    'a pager, a signature check, an alias': run => {
      repo.git('config', 'core.pager', run);
      repo.git('config', 'pager.diff', run);
      repo.git('config', 'log.showSignature', 'true');
      repo.git('config', 'gpg.program', run);
      repo.git('config', 'alias.status', `!${run}`);
    },
  };

  test.each(Object.entries(plants))('%s', async (_, plant) => {
    const { run, tripped } = trapped();
    plant(run);
    const diff = await everything(repo.root);
    expect(diff).toContain('+changed');
    expect(tripped()).toBe(false);
  });

  test('the traps are real: plain git falls into one', { tags: ['programs-that-git-would-run'] }, () => {
    const { run, tripped } = trapped();
    plants['a filter']!(run);
    repo.append('a.txt', 'changed\n');
    repo.git('diff');
    expect(tripped()).toBe(true);
  });

  test('settings of the user play no part either', { tags: ['programs-that-git-would-run'] }, async () => {
    const { run, tripped } = trapped();
    const settings = [
      `[core]\n\tfsmonitor = ${run}\n`,
      `[diff]\n\texternal = ${run}\n\tnoprefix = true\n`,
      `[filter "user"]\n\tclean = ${run}\n`,
    ];
    writeFileSync(join(repo.env.HOME, '.gitconfig'), settings.join(''));
    repo.write('.git/info/attributes', '* filter=user\n');
    expect(await everything(repo.root)).toContain('+++ b/a.txt');
    expect(tripped()).toBe(false);
  });

  test('a work tree that the configuration puts elsewhere is not looked at', async () => {
    trapped();
    repo.git('config', 'core.worktree', '/etc');
    const { snapshot } = await createWorkTree(repo.env).snapshot(repo.root);
    expect(snapshot).toMatchObject({ root: repo.root, dirty: [] });
  });
});

test('a repository of another user is not looked at, unless the user told git to trust it', async () => {
  trapped();
  const asSomebodyElse = async () => {
    const git = await openGit(repo.root, repo.env, process.geteuid!() + 1);
    return String(await git.run(['symbolic-ref', '--short', 'HEAD'])).trim();
  };
  await expect(asSomebodyElse()).rejects.toThrow(
    'git does not trust this repository, which belongs to another user (see safe.directory)',
  );
  execFileSync('git', ['config', '--global', 'safe.directory', repo.root], { env: repo.env });
  expect(await asSomebodyElse()).toBe('main');
});

test('another repository is reached by the one protocol that is named, and by none without', async () => {
  trapped();
  const git = await openGit(repo.root, repo.env);
  const args = ['ls-remote', `file://${repo.root}`];
  await expect(git.run(args)).rejects.toThrow(/not allowed/);
  expect(await git.reach(args, 'ssh')).toMatchObject({
    code: 128,
    stderr: expect.stringMatching(/not allowed/),
  });
  expect(await git.reach(args, 'file')).toMatchObject({ code: 0 });
});

test('a limit of memory ends git with its own words', async () => {
  trapped();
  const git = await openGit(repo.root, repo.env);
  const input = Buffer.alloc(64 * 1024 ** 2);
  const hash = (maxMemoryBytes: number) => git.run(['hash-object', '--stdin'], { input, maxMemoryBytes });
  await expect(hash(32 * 1024 ** 2)).rejects.toThrow('Out of memory');
  expect(String(await hash(1024 ** 3))).toMatch(/^[0-9a-f]{40}\n$/);
});
