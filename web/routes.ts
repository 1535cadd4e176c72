import type { ComponentType } from 'preact';
import type { VIEWS } from '../src/schema/web-ui.ts';
import { later } from './shell/later.tsx';
import { ViewWait } from './shell/view-wait.tsx';

const view = (load: () => Promise<ComponentType>) => later(load, ViewWait);

export const RunPage = view(() => import('./views/runs/run/run-page.tsx').then(m => m.RunPage));
export const SquadPage = view(() => import('./views/runs/squad/squad-page.tsx').then(m => m.SquadPage));

/** Views that are loaded when they are first opened. The list of runs is loaded with the shell. */
export const PAGES = {
  '/inbox': view(() => import('./views/inbox/inbox-page.tsx').then(m => m.InboxPage)),
  '/reviews': view(() => import('./views/review/reviews-page.tsx').then(m => m.ReviewsPage)),
  '/merge': view(() => import('./views/integration/merge-page.tsx').then(m => m.MergePage)),
  '/backlog': view(() => import('./views/team/backlog-page.tsx').then(m => m.BacklogPage)),
  '/decisions': view(() => import('./views/team/decisions-page.tsx').then(m => m.DecisionsPage)),
  '/cost': view(() => import('./views/cost/cost-page.tsx').then(m => m.CostPage)),
  '/gateway': view(() => import('./views/gateway/gateway-page.tsx').then(m => m.GatewayPage)),
  '/machines': view(() => import('./views/machines/machines-page.tsx').then(m => m.MachinesPage)),
  '/chats': view(() => import('./views/conversations/chats-page.tsx').then(m => m.ChatsPage)),
  '/events': view(() => import('./views/runs/events/events-page.tsx').then(m => m.EventsPage)),
  '/search': view(() => import('./views/output/search-page.tsx').then(m => m.SearchPage)),
  '/settings': view(() => import('./views/settings/settings-page.tsx').then(m => m.SettingsPage)),
} satisfies Record<`/${(typeof VIEWS)[number]}`, ReturnType<typeof view>>;

/** Loads the view at this path in advance. The list of runs and unknown paths have no code of their own. */
export function loadView(path: string): void {
  if (path.startsWith('/r/')) void RunPage.preload();
  else if (path.startsWith('/s/')) void SquadPage.preload();
  else void (PAGES as Record<string, typeof RunPage | undefined>)[path]?.preload();
}

/** Loads every view in advance, so that they can also be opened while the hub is down. */
export async function loadViews(): Promise<void> {
  for (const page of [RunPage, SquadPage, ...Object.values(PAGES)]) await page.preload();
}
