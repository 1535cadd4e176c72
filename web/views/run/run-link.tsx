import { card } from '../../state/live.ts';

/** Another run, by its role where that is known. */
export function RunLink({ id }: { id: string }) {
  const known = card(id).value;
  return <a href={`/r/${id}`}>{known?.roleId ? `${known.roleId} ${id}` : id}</a>;
}
