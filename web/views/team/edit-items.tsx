import { useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import type { Input } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { showFailure } from '../../shell/ask-first.tsx';
import { type ApiError, call } from '../../state/api.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import type { BacklogItem } from './task-text.ts';

/** The file as this page shows it. An edit is refused if the file has changed since. */
export interface ShownFile {
  workspace: string;
  revision: string;
  /** Loads the backlog file again. */
  reload(): void;
}

async function edit(
  { workspace, revision, reload }: ShownFile,
  input: Input<'edit_backlog'>,
): Promise<number> {
  try {
    const answer = await call('edit_backlog', { ...input, revision }, { workspace });
    return answer.number;
  } finally {
    // The file is also loaded again after a refusal, because a refusal means that it has changed.
    reload();
  }
}

/** Moves an item without confirmation, because the opposite move undoes it. `onMoved` gets its new number. */
export function moveItem(
  file: ShownFile,
  { number, title }: BacklogItem,
  action: 'up' | 'down',
  onMoved: (number: number) => void,
): void {
  edit(file, { action, number }).then(
    now => {
      onMoved(now);
      toast(`Moved ${action}: ${visibleText(title)}`);
    },
    (thrown: ApiError) => showFailure(thrown),
  );
}

interface EditProps {
  file: ShownFile;
  onClose(): void;
}

export function MarkItem({ file, item, onClose }: EditProps & { item: BacklogItem }) {
  // The state of the file when the dialog opened, because the number of the item belongs to that version.
  const [seen] = useState(file);
  const { number, done, title } = item;
  const action = done ? 'reopen' : 'done';
  return (
    <Confirm
      title={`${done ? 'Reopen' : 'Done'}: ${title}`}
      effect={`Writes [${done ? ' ' : 'x'}] before this item in .squad/backlog.md. Nothing else in the file changes.`}
      command={`squad backlog ${action} ${number} --workspace ${shellWord(file.workspace)}`}
      yes={done ? 'Reopen' : 'Mark as done'}
      tone="main"
      onYes={() => edit(seen, { action, number })}
      onClose={onClose}
    />
  );
}

export function AddItem({ file, headings, onClose }: EditProps & { headings: readonly string[] }) {
  const [title, setTitle] = useState('');
  const [owner, setOwner] = useState('');
  const [under, setUnder] = useState('');
  const words = [
    `squad backlog add ${shellWord(title.trim() || 'TITLE')}`,
    ...(owner.trim() === '' ? [] : [`--owner ${shellWord(owner.trim())}`]),
    ...(under === '' ? [] : [`--under ${shellWord(under)}`]),
    `--workspace ${shellWord(file.workspace)}`,
  ];
  const add = () =>
    edit(file, {
      ...{ action: 'add', title },
      ...(owner.trim() !== '' && { owner: owner.trim() }),
      ...(under !== '' && { under }),
    });
  return (
    <Confirm
      title="Add an item"
      effect="Adds one line to .squad/backlog.md, after the last item under its heading. No run is started."
      command={words.join(' ')}
      yes="Add"
      tone="main"
      onYes={add}
      onClose={onClose}
    >
      <label class="start-field">
        Title, with tags such as [P1] and (#12) if you like
        <input
          type="text"
          required
          maxLength={300}
          value={title}
          onInput={event => setTitle(event.currentTarget.value)}
        />
      </label>
      <label class="start-field">
        Owner (optional)
        <input
          type="text"
          maxLength={61}
          value={owner}
          onInput={event => setOwner(event.currentTarget.value)}
        />
      </label>
      {headings.length > 1 && (
        <label class="start-field">
          Under
          <select value={under} onChange={event => setUnder(event.currentTarget.value)}>
            <option value="">the first heading with open items</option>
            {headings.map(heading => (
              <option key={heading} value={heading}>
                {visibleText(heading)}
              </option>
            ))}
          </select>
        </label>
      )}
    </Confirm>
  );
}
