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

/** A review decision applies to the coder, also when it is made on the reviewer's page. */
export type ActedOn = Pick<ShownRun['run'], 'id' | 'reviewOf'> & { reviewerId?: string | null };

/** Shows the effect of an action and its command, and runs the action when the user confirms. */
export function ActionDialog({ run, action, onClose }: ActionDialogProps) {
  const { route } = useLocation();
  const [text, setText, forget] = useDraft(`${action.action}:${run.id}`);
  const along = useSendAlong(
    run.reviewOf ?? run.id,
    run.reviewOf ? run.id : (run.reviewerId ?? null),
    action.round,
  );
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
          ? commentCommand(run.reviewOf ?? run.id, along.comments, text)
          : fillInText(action.command, text)
      }
      yes={form.yes}
      tone={form.isHarmless ? 'main' : 'danger'}
      onClose={onClose}
      onYes={async () => {
        await (isAlong
          ? notifyResult(along.send(text.trim()), () => 'Sent back with your comments.')
          : form.carryOut({ run, round: action.round, text: text.trim(), route }));
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
            value={text}
            onInput={event => setText(event.currentTarget.value)}
          />
        </label>
      )}
      {action.action === 'send_back' && <SendAlong along={along} />}
    </Confirm>
  );
}

interface Form {
  yes: string;
  /** Label of the text field; without it the dialog has none. */
  asks?: string;
  isOptional?: true;
  isHarmless?: true;
  carryOut(given: { run: ActedOn; round?: number; text: string; route(url: string): void }): Promise<void>;
}

const steer = (run: string, action: 'cancel' | 'abandon', said: string) =>
  notifyResult(call('steer_review', { run, action }, { waitSeconds: 15 }), () => said);

const feedback = (
  given: { run: ActedOn; round?: number },
  feedback_type: 'approved' | 'needs_work',
  feedback: string,
) =>
  notifyResult(
    call('steer_review', {
      run: given.run.id,
      action: 'feedback',
      round: given.round,
      feedback,
      feedback_type,
    }),
    () => (feedback_type === 'approved' ? 'Approved.' : 'Sent back with your feedback.'),
  );

/** Actions without a form run only in a terminal. */
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
    carryOut: ({ run, text, route }) =>
      notifyResult(call('reply_to_run', { run: run.id, text }), ({ runIds, warnings }) => {
        if (runIds[0]) route(`/r/${runIds[0]}`);
        return ['The run continues.', ...warnings].join(' ');
      }),
  },
  approve: {
    yes: 'Approve',
    asks: 'Comment (optional)',
    isOptional: true,
    isHarmless: true,
    carryOut: ({ text, ...given }) => feedback(given, 'approved', text || 'Approved.'),
  },
  send_back: {
    yes: 'Send back',
    asks: 'Requested changes',
    isHarmless: true,
    carryOut: ({ text, ...given }) => feedback(given, 'needs_work', text),
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

/** Inserts the typed text into the command, which the user can copy. */
function fillInText(command: string, text: string): string {
  if (text.trim() === '') return command;
  return command.replace('"…"', () => shellWord(text.trim()));
}
