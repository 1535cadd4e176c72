import { shownKey } from '../key-names.ts';
import type { Binding } from '../keys.ts';
import { Dialog } from '../ui/dialog.tsx';

/** The list of shortcuts is generated from the active key bindings, so it is always complete. */
export function Help({ keys, onClose }: { keys: Binding[]; onClose(): void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="key-list">
        {keys.map(({ key, what }) => (
          <div key={key}>
            <dt>
              <kbd>{shownKey(key)}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="soft">
        Shortcuts are off while you type. <kbd>esc</kbd> closes this dialog.
      </p>
    </Dialog>
  );
}
