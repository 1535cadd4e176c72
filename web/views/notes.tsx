import { Icon } from '../ui/icon.tsx';
import { PlainLine } from '../ui/plain.tsx';

/** Warnings about the files that the data was read from. */
export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes">
      {notes.map(note => (
        <li key={note}>
          <Icon name="warn" class="tone-ask" /> <PlainLine text={note} />
        </li>
      ))}
    </ul>
  );
}
