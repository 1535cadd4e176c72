import { Icon } from '../ui/icon.tsx';
import { Plain } from '../ui/plain.tsx';

/** What is odd about the files that something was read from. */
export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes">
      {notes.map(note => (
        <li key={note}>
          <Icon name="warn" class="tone-ask" /> <Plain text={note} isBlock={false} />
        </li>
      ))}
    </ul>
  );
}
