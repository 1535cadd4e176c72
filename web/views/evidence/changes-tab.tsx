import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../../src/base/text.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { bindingOf } from '../../keys.ts';
import { type ApiError, call } from '../../state/api.ts';
import { useQuery } from '../../state/query.ts';
import { saved } from '../../state/saved.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Loading } from '../../ui/layout.tsx';
import { Problem } from '../../ui/problem.tsx';
import { toast } from '../../ui/toast.tsx';
import { Notes } from '../notes.tsx';
import { ACTION_KEYS, askForAction } from '../runs/run/action-keys.ts';
import type { ShownRun } from '../runs/run/shown-run.ts';
import { commentCommand } from './comment-command.ts';
import { DiffFiles } from './diff-files.tsx';
import type { DiffPlace } from './diff-place.ts';
import { isSamePlace, type LineComment, loadDrafts, saveDraft, withComment } from './saved-comments.ts';
import { howMany, setUnsent, unsentComments } from './unsent-comments.ts';

interface NoDiffProps {
  run: ShownRun['run'];
  error: ApiError;
  onRetry(): void;
}

/** A missing diff is an error only if the run started and its folder is in a git repository. */
function NoDiff({ run, error, onRetry }: NoDiffProps) {
  const { code, message } = error;
  if (code !== 'DIFF_UNAVAILABLE') return <Problem error={error} onRetry={onRetry} />;
  if (run.startedAt === null)
    return (
      <Empty title={run.endedAt === null ? 'Not started yet' : 'Never started'}>
        {run.endedAt === null
          ? 'Changes appear here once the run has started.'
          : 'This run changed no files.'}
      </Empty>
    );
  if (/not a git repository/.test(message))
    return (
      <Empty title="The folder is not in a git repository" command="git init">
        Squad finds changes with git, and <code>{run.directory}</code> is in no repository. See the activity
        and the output of this run instead. To see the changes of later runs, run in the project:
      </Empty>
    );
  if (/\b(is|are) gone\b/.test(message))
    return (
      <Empty title="The folder was removed" command={`squad show ${shellWord(run.id)}`}>
        <code>{run.directory}</code> no longer exists, and no branch with its work is left. To see what Squad
        recorded when the run ended:
      </Empty>
    );
  return <Problem error={error} onRetry={onRetry} />;
}

/** Lines of context that show the whole file. */
const WHOLE_FILES = 1_000_000;

/** Diff of the run's folder, with comments. */
export function ChangesTab({ data }: { data: ShownRun }) {
  const { run } = data;
  const [context, setContext] = useState<number | null>(null);
  const {
    data: diff,
    error,
    isLoading,
    reload,
  } = useQuery(
    'diff_run',
    { run: run.id, ...(context !== null && { context }) },
    {
      refreshOn: ({ events }) =>
        events.some(({ runId, body }) => runId === run.id && /^run\.(turn_)?ended$/.test(body.type)),
    },
  );
  const comments = unsentComments(run.id).value;
  const [editing, setEditing] = useState<DiffPlace | null>(() => loadDrafts(run.id).at(-1) ?? null);
  const keep = (next: LineComment[]) => setUnsent(run.id, next);
  if (error && !diff) return <NoDiff run={run} error={error} onRetry={reload} />;
  if (!diff)
    return (
      <section class="review-room">
        <Loading text="Comparing…" />
      </section>
    );
  return (
    <section class="changes review-room" aria-label="Changes">
      <h2 class="unseen">Changes</h2>
      <div class="changes-tools">
        {!saved && (
          <Button onClick={reload} why={isLoading ? 'Comparing…' : null}>
            {diff.isOver ? 'compare again' : 'refresh'}
          </Button>
        )}
        {!saved && (
          <label class="soft">
            context{' '}
            <select
              value={context ?? ''}
              onChange={({ currentTarget: { value } }) => setContext(value === '' ? null : Number(value))}
            >
              <option value="">3 lines</option>
              <option value="25">25 lines</option>
              <option value={WHOLE_FILES}>whole files</option>
            </select>
          </label>
        )}
        <Command text={`squad diff ${shellWord(run.id)}`} />
        {diff.branch && (
          <span class="soft">
            branch <code>{visibleText(diff.branch)}</code>
          </span>
        )}
      </div>
      {error && <Problem error={error} onRetry={reload} />}
      <Notes notes={diff.notes} />
      {diff.isTruncated && <p class="tone-ask">The diff is cut off here: see the folder for the rest.</p>}
      {comments.length > 0 && (
        <SendBar
          run={run.id}
          comments={comments}
          onSent={() => keep([])}
          onRemove={one => keep(comments.filter(other => other !== one))}
        />
      )}
      {diff.text ? (
        <DiffFiles
          text={diff.text}
          run={saved ? null : run.id}
          commenting={
            saved
              ? null
              : {
                  comments,
                  editing,
                  edit: setEditing,
                  write: one => keep(withComment(comments, one)),
                  draftOf: place => loadDrafts(run.id).find(one => isSamePlace(one, place))?.text ?? null,
                  saveDraft: (place, text) => saveDraft(run.id, place, text),
                }
          }
        />
      ) : (
        <Empty title="No changes">
          {diff.isOver ? 'This run changed no files.' : 'Changed files appear here.'}
        </Empty>
      )}
      {!saved && <Decisions run={run.id} isReviewed={data.review !== null} hasLines={diff.text !== ''} />}
    </section>
  );
}

interface DecisionsProps {
  run: string;
  isReviewed: boolean;
  /** Whether there are lines to comment on. */
  hasLines: boolean;
}

/** Actions that are available after reading the changes, with keys that work on the whole page. */
function Decisions({ run, isReviewed, hasLines }: DecisionsProps) {
  const actions = useQuery('run_actions', { run }).data?.actions ?? [];
  const shown = DECISIONS.flatMap(name => actions.find(({ action }) => action === name) ?? []);
  return (
    <div
      class="decision-bar"
      role="toolbar"
      aria-label="Decide on these changes"
      tabIndex={-1}
      // Keeps the focus on the line, so that the comment is about that line.
      onMouseDown={event => event.preventDefault()}
    >
      {hasLines && (
        <Button keyName="m" onClick={() => bindingOf('m')?.run()}>
          Comment
        </Button>
      )}
      {shown
        .filter(({ action, isPossible }) => isPossible || action === 'integrate' || isReviewed)
        .map(action => (
          <Button
            key={action.action}
            tone={action.action === 'approve' ? 'main' : 'plain'}
            why={action.isPossible ? null : (action.why ?? 'Not available now')}
            keyName={ACTION_KEYS[action.action]}
            onClick={() => askForAction(run, action)}
          >
            {action.label}
          </Button>
        ))}
    </div>
  );
}

const DECISIONS = ['reply', 'send_back', 'approve', 'integrate'] as const;

interface SendBarProps {
  run: string;
  comments: LineComment[];
  onSent(): void;
  onRemove(comment: LineComment): void;
}

/** Comments are sent together: an agent that gets them one by one works on each separately. */
function SendBar({ run, comments, onSent, onRemove }: SendBarProps) {
  const { route } = useLocation();
  const [isAsking, setAsking] = useState(false);
  const [message, setMessage] = useState('');
  const { data } = useQuery('run_actions', { run });
  const action = data?.actions.find(one => one.action === 'comment');
  const send = async () => {
    const words = message.trim();
    const { way, runId } = await call('comment_on_run', { run, comments, ...(words && { message: words }) });
    onSent();
    toast(way === 'reply' ? 'Sent: a new run continues with your comments.' : 'Sent as feedback.', {
      href: `/r/${runId}`,
    });
    if (runId !== run) route(`/r/${runId}`);
  };
  const many = howMany(comments);
  return (
    <div class="send-bar">
      <details>
        <summary>{many} not sent yet</summary>
        <ul>
          {comments.map(one => (
            <li key={`${one.path}:${one.side}${one.line}`}>
              <code>
                {visibleText(one.path)}:{one.line}
              </code>{' '}
              <span class="plain-line">{visibleText(one.text)}</span>{' '}
              <Button tone="quiet" onClick={() => onRemove(one)}>
                remove
              </Button>
            </li>
          ))}
        </ul>
      </details>
      <Button
        tone="main"
        why={action && !action.isPossible ? action.why : null}
        onClick={() => setAsking(true)}
      >
        Send {many}
      </Button>
      {action && !action.isPossible && <span class="soft">{action.why} Your comments stay in this tab.</span>}
      {isAsking && (
        <Confirm
          title={`Send ${many}`}
          effect={action?.effect ?? 'The agent continues with your comments.'}
          command={commentCommand(run, comments, message)}
          yes="Send"
          tone="main"
          onYes={send}
          onClose={() => setAsking(false)}
        >
          <label>
            Message (optional)
            <textarea value={message} onInput={event => setMessage(event.currentTarget.value)} />
          </label>
        </Confirm>
      )}
    </div>
  );
}
