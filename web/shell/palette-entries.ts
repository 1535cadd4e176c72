import { useLocation } from 'preact-iso';
import { visibleText } from '../../src/base/text.ts';
import type { Output } from '../../src/operations/operations.ts';
import { runName } from '../../src/schema/run-text.ts';
import type { Binding } from '../keys.ts';
import { call } from '../state/api.ts';
import { inbox } from '../state/live.ts';
import { useQuery } from '../state/query.ts';
import { withQuery } from '../state/url-state.ts';
import { workspace } from '../state/workspace.ts';
import { plural } from '../ui/figures.ts';
import { cardStyle } from '../ui/status-style.ts';
import { askFirst } from './ask-first.tsx';
import { actionIn, type Entry } from './palette-match.ts';
import { askToDecide } from './review-action.tsx';
import { askToCancel, askToRetry } from './run-action.tsx';
import { VIEWS } from './views.ts';

const MAX_RUNS = 8;

/** All entries of the palette. The hub searches the runs, since the browser does not have all of them. */
export function usePaletteEntries(keys: Binding[], typed: string): Entry[] {
  const { route } = useLocation();
  const { isAction, rest } = actionIn(typed);
  const here = workspace.value === null ? {} : { workspace: workspace.value };
  const board = useQuery('list_board', { q: rest || undefined, ...here, limit: MAX_RUNS });
  const reviews = useQuery('list_reviews', { ...here, isOpen: true });
  const workspaces = useQuery('list_workspaces', {});
  const runs = board.data?.runs ?? [];
  // The hub matched the typed text anywhere in the run. The hint contains the text in hidden form, so that the local
  // filter keeps the run.
  const by = (words: string) => (board.isOf ? `\u200b${words}` : '');
  const ofRuns = runs.map(card => ({
    id: card.id,
    group: 'Runs',
    label: visibleText(card.title) || card.id,
    hint: `${cardStyle(card).word} · ${runName(card)} · ${card.id}${by(isAction && rest === '' ? '' : typed)}`,
    run: () => route(`/r/${card.id}`),
  }));
  const actions = typed.trim() === '' ? [] : actionEntries(runs, reviews.data?.reviews ?? [], by(rest));
  return [
    ...inbox.value.map(item => ({
      id: item.id,
      group: 'Waiting for you',
      label: visibleText(item.question),
      hint: 'answer',
      run: () => route(`/inbox#${item.id}`),
    })),
    ...keys
      .filter(({ key }) => key !== 'ctrl+k' && !key.startsWith('g '))
      .map(({ key, what, run }) => ({ id: `key ${key}`, group: 'This page', label: what, key, run })),
    ...VIEWS.map(({ name, href, key }) => ({
      id: `view ${href}`,
      group: 'Views',
      label: name,
      key,
      run: () => route(href),
    })),
    ...(isAction ? [...actions, ...ofRuns] : [...ofRuns, ...actions]),
    ...(typed.trim() === ''
      ? []
      : [
          {
            id: 'search',
            group: 'Squad',
            label: `Search everything for ${typed.trim()}`,
            hint: 'tasks, decisions, output',
            run: () => route(withQuery('/search', { q: typed.trim() })),
          },
        ]),
    ...COMMANDS,
    ...workspaceEntries(workspaces.data?.workspaces ?? []),
  ];
}

/** Actions on runs without opening them: decide a review, cancel, retry. */
function actionEntries(
  runs: Output<'list_board'>['runs'],
  reviews: Output<'list_reviews'>['reviews'],
  by: string,
): Entry[] {
  const group = 'Actions on runs';
  const decisions = [
    { words: 'Approve', isApproval: true },
    { words: 'Send back', isApproval: false },
  ].flatMap(({ words, isApproval }) =>
    reviews.map(review => ({
      id: `${words} ${review.id}`,
      group,
      label: `${words}: ${visibleText(review.title ?? review.coderId)}`,
      hint: `${review.coder ?? 'coder'} · ${review.coderId}`,
      run: () => askToDecide(review, isApproval),
    })),
  );
  const others = runs.map(card => {
    const isOver = card.endedAt !== null;
    return {
      id: `act ${card.id}`,
      group,
      label: `${isOver ? 'Retry' : 'Cancel'}: ${visibleText(card.title)}`,
      hint: `${runName(card)}${by}`,
      run: () => (isOver ? askToRetry(card) : askToCancel(card)),
    };
  });
  return [...decisions, ...others];
}

const COMMANDS: Entry[] = [
  {
    id: 'cancel all',
    group: 'Squad',
    label: 'Cancel every run',
    hint: 'squad cancel --all --everywhere',
    run: () =>
      askFirst({
        title: 'Cancel every run',
        effect: 'Stops every running and queued agent in all workspaces. Their work is kept.',
        command: 'squad cancel --all --everywhere',
        yes: 'Cancel all',
        run: async () => {
          const { runs } = await call('cancel_run', { all: true, everywhere: true });
          return runs.length === 0 ? 'No runs to cancel' : `Stopping ${plural(runs.length, 'run')}`;
        },
      }),
  },
  {
    id: 'stop hub',
    group: 'Squad',
    label: 'Stop the hub',
    hint: 'squad hub stop',
    run: () =>
      askFirst({
        title: 'Stop the hub',
        effect:
          'Running agents continue, and the next hub takes them over. Until then this page shows nothing new.',
        command: 'squad hub stop',
        yes: 'Stop the hub',
        run: async () => {
          await call('stop_hub', {});
          return 'The hub is stopping';
        },
      }),
  },
];

function workspaceEntries(known: { path: string; name: string }[]): Entry[] {
  const all = workspace.value === null ? [] : [{ path: null, name: 'All workspaces' }];
  return [...all, ...known].map(({ path, name }) => ({
    id: `workspace ${path}`,
    group: 'Workspaces',
    label: name,
    hint: path ?? undefined,
    run: () => {
      workspace.value = path;
    },
  }));
}
