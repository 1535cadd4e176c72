import { expect, test } from 'vitest';
import { newRunId } from '../../schema/ids.ts';
import type { Workspace } from '../ports/workspace.ts';
import { resolveRunFolder } from './plan-run.ts';
import type { RunRequest } from './run-request.ts';

const worktree = {
  ...{ path: '/trees/one', branch: 'squad/one', repository: '/work', base: 'abc', baseBranch: 'main' },
  workspace: '/trees/one',
};

async function checked(request: Partial<RunRequest>, repository: string | null = '/project/.git') {
  const asked: [string | undefined, string | undefined][] = [];
  const directory: Workspace['directory'] = async (cwd, within) => {
    asked.push([cwd, within]);
    return cwd ?? '';
  };
  const place = await resolveRunFolder(
    { task: 'x', ...request },
    {
      ...{ runId: newRunId(), name: 'coder', role: null, around: null },
      workspace: { directory } as Workspace,
      worktrees: { plan: () => Promise.reject(new Error('not asked')), repositoryOf: async () => repository },
    },
  );
  return { place, asked };
}

test('the folder that a reply continues in is checked like any other', async () => {
  const { place, asked } = await checked({ place: { directory: '/project/sub', worktree: null } });
  expect(asked).toEqual([['/project/sub', undefined]]);
  expect(place).toMatchObject({ directory: '/project/sub', worktree: null });
});

test('a work tree may be gone, but not its repository', async () => {
  const request = { place: { directory: '/trees/one/sub', worktree } };
  expect(await checked(request)).toMatchObject({ place: { directory: '/trees/one/sub' }, asked: [] });
  await expect(checked(request, null)).rejects.toMatchObject({ code: 'NOT_A_REPOSITORY' });
});
