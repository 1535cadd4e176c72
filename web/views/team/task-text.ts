import type { Output } from '../../../src/operations/operations.ts';

export type BacklogItem = Output<'list_backlog'>['groups'][number]['items'][number];

/** The task of a run for a backlog item: its text, and the file it comes from. */
export function taskText({ title, issue, notes }: BacklogItem): string {
  return [
    issue === null ? title : `${title} (${issue})`,
    ...(notes === null ? [] : ['', notes]),
    ...['', 'This is an item of .squad/backlog.md.'],
  ].join('\n');
}

/** The role with the same name as the owner, if there is one. */
export function roleOf(owner: string | null, roles: readonly { id: string; name: string }[]): string | null {
  if (owner === null) return null;
  const name = owner.replace(/^@/, '').toLowerCase();
  return roles.find(role => role.id.toLowerCase() === name || role.name.toLowerCase() === name)?.id ?? null;
}
