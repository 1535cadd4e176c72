import type { ComponentType } from 'preact';
import { later } from './shell/later.tsx';
import { ViewWait } from './shell/view-wait.tsx';

/** Views that are not needed to see who waits: each is loaded when it is first opened. */
export const RunPage = view(() => import('./views/runs/run/run-page.tsx').then(m => m.RunPage));
export const SquadPage = view(() => import('./views/runs/squad/squad-page.tsx').then(m => m.SquadPage));
export const ReviewsPage = view(() => import('./views/review/reviews-page.tsx').then(m => m.ReviewsPage));
export const BacklogPage = view(() => import('./views/team/backlog-page.tsx').then(m => m.BacklogPage));
export const DecisionsPage = view(() => import('./views/team/decisions-page.tsx').then(m => m.DecisionsPage));
export const CostPage = view(() => import('./views/cost/cost-page.tsx').then(m => m.CostPage));
export const GatewayPage = view(() => import('./views/gateway/gateway-page.tsx').then(m => m.GatewayPage));
export const EventsPage = view(() => import('./views/runs/events/events-page.tsx').then(m => m.EventsPage));
export const SearchPage = view(() => import('./views/output/search-page.tsx').then(m => m.SearchPage));
export const SettingsPage = view(() =>
  import('./views/settings/settings-page.tsx').then(m => m.SettingsPage),
);
export const InboxPage = view(() => import('./views/inbox/inbox-page.tsx').then(m => m.InboxPage));

/** When there is nothing else to do: then they are there also while the hub is not. */
export async function loadViews(): Promise<void> {
  const views = [RunPage, InboxPage, SquadPage, ReviewsPage, BacklogPage, DecisionsPage, CostPage];
  for (const one of [...views, GatewayPage, EventsPage, SearchPage, SettingsPage]) await one.preload();
}

function view(load: () => Promise<ComponentType>) {
  return later(load, ViewWait);
}
