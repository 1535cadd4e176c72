import { useLocation } from 'preact-iso';
import { visibleText } from '../../../../src/base/text.ts';
import { shellWord } from '../../../../src/schema/shell-word.ts';
import { call } from '../../../state/api.ts';
import { download } from '../../../state/download.ts';
import { useDraft } from '../../../state/draft.ts';
import { Command } from '../../../ui/copy.tsx';
import { Confirm, Dialog } from '../../../ui/dialog.tsx';
import { commentCommand } from '../../evidence/comment-command.ts';
import { LeftUnsent, SendAlong, useSendAlong } from '../../evidence/send-along.tsx';
import { notifyResult } from '../../notify-result.ts';
import type { RunActionName, RunActionShown, ShownRun } from './shown-run.ts';

interface ActionDialogProps {
  run: ActedOn;
  action: RunActionShown;
  onClose(): void;
}

/** A coder's review is decided for the coder, whoever's page it is done at. */
export type ActedOn = Pick<ShownRun['run'], 'id' | 'reviewOf'> & { reviewerId?: string | null };

/** Says what would happen and the command for it, then does it. */
export function ActionDialog({ run, action, onClose }: ActionDialogProps) {
  const { route } = useLocation();
  const [words, setWords, forget] = useDraft(`${action.action}:${run.id}`);
  const along = useSendAlong(run.reviewOf ?? run.id, run.reviewOf ? run.id : (run.reviewerId ?? null));
  const isAlong = action.action === 'send_back' && along.isAlong;
  const form = FORMS[action.action];
  if (!form || action.byHand !== null)
    return (
      <Dialog title={action.label} onClose={onClose}>
        <p>{action.effect}</p>
        {action.byHand !== null && (
          <p class="soft">Run the command yourself: {visibleText(action.byHand)}.</p>
        )}
        <p class="twin">
          <span>In a terminal</span> <Command text={action.command} />
        </p>
      </Dialog>
    );
  return (
    <Confirm
      title={action.label}
      effect={action.effect}
      command={
        isAlong
          ? commentCommand(run.reviewOf ?? run.id, along.comments, words)
          : withWords(action.command, words)
      }
      yes={form.yes}
      tone={form.isHarmless ? 'main' : 'danger'}
      onClose={onClose}
      onYes={async () => {
        await (isAlong
          ? notifyResult(along.send(words.trim()), () => 'Sent back with your comments.')
          : form.carryOut({ run, words: words.trim(), route }));
        forget();
      }}
    >
      {action.action === 'approve' && <LeftUnsent along={along} />}
      {form.asks && (
        <label>
          {form.asks}
          <textarea
            autofocus
            required={!form.isOptional && !isAlong}
            value={words}
            onInput={event => setWords(event.currentTarget.value)}
          />
        </label>
      )}
      {action.action === 'send_back' && <SendAlong along={along} />}
    </Confirm>
  );
}

interface Form {
  yes: string;
  /** What the words are for. */
  asks?: string;
  isOptional?: true;
  isHarmless?: true;
  carryOut(given: { run: ActedOn; words: string; route(url: string): void }): Promise<void>;
}

const steer = (run: string, action: 'cancel' | 'abandon', said: string) =>
  notifyResult(call('steer_review', { run, action }, { waitSeconds: 15 }), () => said);

const feedback = (run: string, feedback_type: 'approved' | 'needs_work', feedback: string) =>
  notifyResult(call('steer_review', { run, action: 'feedback', feedback, feedback_type }), () =>
    feedback_type === 'approved' ? 'Approved.' : 'Sent back with your feedback.',
  );

/** Those without one are for a terminal. */
const FORMS: Partial<Record<RunActionName, Form>> = {
  cancel: {
    yes: 'Cancel the run',
    carryOut: ({ run }) =>
      notifyResult(call('cancel_run', { spawn_id: run.id }), ({ note }) =>
        ['Stopping.', note].filter(Boolean).join(' '),
      ),
  },
  retry: {
    yes: 'Retry',
    isHarmless: true,
    carryOut: ({ run, route }) =>
      notifyResult(call('retry_runs', { id: run.id }), ({ runIds, warnings }) => {
        if (runIds[0]) route(`/r/${runIds[0]}`);
        return ['Started again.', ...warnings].join(' ');
      }),
  },
  reply: {
    yes: 'Send',
    asks: 'Message',
    isHarmless: true,
    carryOut: ({ run, words, route }) =>
      notifyResult(call('reply_to_run', { run: run.id, text: words }), ({ runIds, warnings }) => {
        if (runIds[0]) route(`/r/${runIds[0]}`);
        return ['The run continues.', ...warnings].join(' ');
      }),
  },
  approve: {
    yes: 'Approve',
    asks: 'Comment (optional)',
    isOptional: true,
    isHarmless: true,
    carryOut: ({ run, words }) => feedback(run.id, 'approved', words || 'Approved.'),
  },
  send_back: {
    yes: 'Send back',
    asks: 'Requested changes',
    isHarmless: true,
    carryOut: ({ run, words }) => feedback(run.id, 'needs_work', words),
  },
  cancel_review: {
    yes: 'End the review',
    carryOut: ({ run }) => steer(run.id, 'cancel', 'The review has ended.'),
  },
  abandon: { yes: 'Abandon', carryOut: ({ run }) => steer(run.id, 'abandon', 'Abandoned.') },
  attach: {
    yes: 'Open terminal',
    isHarmless: true,
    carryOut: ({ run }) =>
      notifyResult(
        call('open_terminal', { run: run.id }),
        ({ program, command }) => `Opened ${program.slice(program.lastIndexOf('/') + 1)} with ${command}.`,
      ),
  },
  export: {
    yes: 'Save',
    isHarmless: true,
    carryOut: ({ run }) =>
      notifyResult(download({ purpose: 'export', run: run.id }), () => `Downloading squad-${run.id}.html.`),
  },
  remove_worktree: {
    yes: 'Remove',
    carryOut: ({ run }) =>
      notifyResult(call('prune_worktrees', { ids: [run.id] }), ({ worktrees }) =>
        worktrees
          .map(({ path, removed, why }) => `${removed ? 'Removed' : 'Kept'} ${path}: ${why}`)
          .join('. '),
      ),
  },
};

/** The command as it would be for these words, so that it can be copied. */
function withWords(command: string, words: string): string {
  if (words.trim() === '') return command;
  return command.replace('"…"', () => shellWord(words.trim()));
}
