import '../views.css';
import '../runs/squad/merge.css';
import { useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { call } from '../../state/api.ts';
import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { plural } from '../../ui/figures.ts';
import { PageHead, Section, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { notifyResult } from '../notify-result.ts';
import { OfWorkspace } from '../of-workspace.tsx';
import { MergeChecklist } from './merge-checklist.tsx';
import { OverlapMatrix } from './overlap-matrix.tsx';

/**
 * `/merge`: all branches of a workspace that can be merged, the files that several branches changed, and the work trees
 * to remove.
 */
export function MergePage() {
  return (
    <div class="merge-page">
      <PageHead title="Merge">
        Branches of completed runs, tried one after the other in the best order. Nothing changes until you
        merge, and nothing is pushed.
      </PageHead>
      <OfWorkspace what="A merge">{path => <Desk path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

/** Events that can change branches or work trees. */
const refreshOn = ({ events }: Changes): boolean =>
  events.some(({ body }) => /^(run\.ended|branch\.|worktree\.)/.test(body.type));

function Desk({ path }: { path: string }) {
  const [ids, choose] = useState<string[]>([]);
  const overlap = useQuery('find_overlap', {}, { workspace: path, refreshOn });
  return (
    <>
      <MergeChecklist
        ids={ids}
        workspace={path}
        onChoose={choose}
        onMerged={() => {
          choose([]);
          overlap.reload();
        }}
      />
      <Section title="Files that several branches changed">
        {overlap.error && !overlap.data && <Problem error={overlap.error} onRetry={overlap.reload} />}
        {overlap.data && <OverlapMatrix overlap={overlap.data} />}
      </Section>
      <WorktreesToRemove path={path} />
    </>
  );
}

type Listed = Output<'list_worktrees'>['worktrees'][number];

function WorktreesToRemove({ path }: { path: string }) {
  const { data, error, reload } = useQuery('list_worktrees', { workspace: path }, { refreshOn });
  const [isAsking, ask] = useState(false);
  const removable = data?.worktrees.filter(({ prune }) => prune === 'remove') ?? [];
  const many = plural(removable.length, 'work tree');
  return (
    <Section title="Work trees">
      {error && !data && <Problem error={error} onRetry={reload} />}
      {data?.worktrees.length === 0 && <p class="soft">No work trees.</p>}
      {data && data.worktrees.length > 0 && (
        <>
          <Sheet columns={['branch', 'run', 'what cleaning up does']}>
            {data.worktrees.map(tree => (
              <tr key={tree.path}>
                <td class="wide">
                  <code>
                    <PlainLine text={tree.branch} />
                  </code>
                </td>
                <td>
                  <Owner tree={tree} />
                </td>
                <td class="wide">
                  <b>{tree.prune === 'remove' ? 'removes it' : 'keeps it'}</b>:{' '}
                  <span class="soft">
                    <PlainLine text={tree.why} />
                  </span>
                </td>
              </tr>
            ))}
          </Sheet>
          <p class="page-tools">
            <Button
              onClick={() => ask(true)}
              why={removable.length === 0 ? 'Every work tree has unmerged work, or is in use.' : null}
            >
              {removable.length === 0 ? 'Clean up' : `Remove ${many}`}
            </Button>
          </p>
        </>
      )}
      {isAsking && (
        <Confirm
          title={`Remove ${many}`}
          effect={`Removes the folders of ${many} without unmerged work. Branches with commits stay.`}
          command={`squad worktrees prune --workspace ${shellWord(path)}`}
          yes="Remove"
          tone="danger"
          onClose={() => ask(false)}
          onYes={() =>
            notifyResult(call('prune_worktrees', { workspace: path }), ({ worktrees }) => {
              reload();
              return `Removed ${plural(worktrees.filter(({ removed }) => removed).length, 'work tree')}.`;
            })
          }
        />
      )}
    </Section>
  );
}

function Owner({ tree: { runs } }: { tree: Listed }) {
  const last = runs.at(-1);
  if (!last) return null;
  return (
    <a href={`/r/${last.id}`}>
      <PlainLine text={last.name} />
    </a>
  );
}
