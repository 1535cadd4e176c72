import { runName } from '../../../../src/schema/run-text.ts';
import { card } from '../../../state/live.ts';

/** Another run, by its name where that is known. */
export function RunLink({ id }: { id: string }) {
  const known = card(id).value;
  return <a href={`/r/${id}`}>{known ? `${runName(known)} ${id}` : id}</a>;
}
