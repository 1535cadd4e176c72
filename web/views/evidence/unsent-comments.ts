import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { plural } from '../../ui/figures.ts';
import { type LineComment, loadComments, saveComments } from './saved-comments.ts';

const known = new Map<string, Signal<LineComment[]>>();

export const unsentComments = (run: string): ReadonlySignal<LineComment[]> => of(run);

export function setUnsent(run: string, comments: LineComment[]): void {
  of(run).value = comments;
  saveComments(run, comments);
}

function of(run: string): Signal<LineComment[]> {
  const found = known.get(run) ?? signal(loadComments(run));
  known.set(run, found);
  return found;
}

export const howMany = (comments: readonly LineComment[]): string => plural(comments.length, 'comment');
