import './palette.css';
import { useEffect, useId, useState } from 'preact/hooks';
import { shownKey } from '../key-names.ts';
import type { Binding } from '../keys.ts';
import { useModal } from '../ui/modal.ts';
import { usePaletteEntries } from './palette-entries.ts';
import { type Entry, matching } from './palette-match.ts';

const MAX_OF_GROUP = 8;

export function Palette({ keys, onClose }: { keys: Binding[]; onClose(): void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const dialog = useModal(onClose);
  const entries = matching(usePaletteEntries(keys, typed), typed, MAX_OF_GROUP);
  const chosen = Math.min(at, entries.length - 1);
  useEffect(() => {
    document.getElementById(`${list}-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    // The entry runs after this dialog has closed, because it may open another one.
    setTimeout(entry.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((chosen + step + entries.length) % Math.max(1, entries.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(entries[chosen]);
    }
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: esc does what a click beside the dialog does
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Commands, views and runs"
      // Closes the dialog, but ignores the second click of a double click on the button that opened it.
      onClick={event => event.target === dialog.current && event.detail < 2 && onClose()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Search commands, views and runs"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={entries.length > 0 ? `${list}-${chosen}` : undefined}
        placeholder="search commands, views and runs"
        autocomplete="off"
        value={typed}
        onInput={event => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette-list" role="listbox" id={list} aria-label="Results">
        {entries.map((entry, index) => (
          <Choice
            key={entry.id}
            id={`${list}-${index}`}
            entry={entry}
            isFirst={entries[index - 1]?.group !== entry.group}
            isChosen={index === chosen}
            onChoose={() => choose(entry)}
          />
        ))}
      </div>
      {entries.length === 0 && <p class="palette-none soft">No matches</p>}
    </dialog>
  );
}

interface ChoiceProps {
  id: string;
  entry: Entry;
  isFirst: boolean;
  isChosen: boolean;
  onChoose(): void;
}

function Choice({ id, entry, isFirst, isChosen, onChoose }: ChoiceProps) {
  return (
    <>
      {isFirst && (
        <div class="palette-group" role="presentation">
          {entry.group}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the box above, where the focus stays */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the same */}
      <div id={id} role="option" aria-selected={isChosen} class="palette-entry" onClick={onChoose}>
        <span class="palette-label">{entry.label}</span>
        {entry.hint && <span class="palette-hint soft">{entry.hint.split('\u200b')[0]}</span>}
        {entry.key && <kbd>{shownKey(entry.key)}</kbd>}
      </div>
    </>
  );
}
