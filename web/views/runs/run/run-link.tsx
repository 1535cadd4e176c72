import { runName } from '../../../../src/schema/run-text.ts';
import { card } from '../../../state/live.ts';

/** Link to another run, with its name if that is known. */
export function RunLink({ id }: { id: string }) {
  const known = card(id).value;
  return <a href={`/r/${id}`}>{known ? `${runName(known)} ${id}` : id}</a>;
}
