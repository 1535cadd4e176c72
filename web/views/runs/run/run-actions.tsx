import { useLocation } from 'preact-iso';
import { useKeys } from '../../../keys.ts';
import { useQuery } from '../../../state/query.ts';
import { Button } from '../../../ui/button.tsx';
import { MergeChecklist } from '../../integration/merge-checklist.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { ACTION_KEYS, asked, askForAction } from './action-keys.ts';
import type { RunActionName, RunActionShown, ShownRun } from './shown-run.ts';

/** Fixed order of the actions: those that continue the work, then those that only show it, then those that end it. */
const ORDER: readonly RunActionName[] = [
  ...(['answer', 'approve', 'send_back', 'cancel_review', 'reply', 'retry', 'integrate', 'comment'] as const),
  ...(['attach', 'export', 'remove_worktree', 'cancel', 'abandon'] as const),
];

const inOrder = (actions: readonly RunActionShown[]): RunActionShown[] =>
  actions.toSorted((a, b) => ORDER.indexOf(a.action) - ORDER.indexOf(b.action));

/**
 * Common actions are always shown, and disabled with a reason if they are not possible. Other actions are shown only if
 * they are possible.
 */
const ALWAYS: readonly RunActionName[] = ['cancel', 'retry', 'reply'];

const isShown = ({ action, isPossible }: RunActionShown): boolean => isPossible || ALWAYS.includes(action);

/** Actions on the run: a button, a key and the command for each, and the reason if it is disabled. */
export function RunActions({ data }: { data: ShownRun }) {
  const { run } = data;
  const { route } = useLocation();
  const open = asked.value?.runId === run.id ? asked.value.action : null;
  const close = () => {
    asked.value = null;
  };
  const { data: answer } = useQuery(
    'run_actions',
    { run: run.id },
    {
      refreshOn: ({ events, inbox }) =>
        events.some(({ runId, body }) => runId === run.id && body.type !== 'run.activity') ||
        inbox.some(item => item.runId === run.id),
    },
  );
  const actions = inOrder(answer?.actions ?? []);
  const choose = (action: RunActionShown) => {
    if (!action.isPossible) return;
    if (action.action === 'comment') route(`/r/${run.id}/changes`);
    else if (action.action === 'answer') route(`/r/${run.id}/activity`);
    else askForAction(run.id, action);
  };
  useKeys(
    actions.map(action => ({
      key: ACTION_KEYS[action.action],
      what: `${action.label} (this run)`,
      run: () => choose(action),
      when: () => action.isPossible,
    })),
  );
  const shown = actions.filter(action => isShown(action));
  const rest = actions.filter(action => !isShown(action));
  return (
    <>
      <div class="run-actions">
        {shown.map(action => (
          <Button
            key={action.action}
            why={action.isPossible ? null : (action.why ?? 'Not available now')}
            keyName={ACTION_KEYS[action.action]}
            tone={action.action === 'cancel' || action.action === 'abandon' ? 'danger' : 'plain'}
            onClick={() => choose(action)}
          >
            {action.label}
          </Button>
        ))}
        {rest.length > 0 && (
          <details class="run-more">
            <summary>Not available ({rest.length})</summary>
            <ul>
              {rest.map(({ action, label, why }) => (
                <li key={action}>
                  <b>{label}</b> <span class="soft">{why}</span>
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      {open?.action === 'integrate' && (
        <MergeChecklist ids={[run.id]} workspace={run.workspace} onClose={close} />
      )}
      {open && open.action !== 'integrate' && (
        <ActionDialog
          run={{ ...run, reviewerId: data.review?.reviewerId ?? null }}
          action={open}
          onClose={close}
        />
      )}
    </>
  );
}
