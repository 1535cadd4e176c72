import type { ComponentType } from 'preact';
import { lazy } from 'preact-iso';

/** Views that are not needed to see who waits: each is loaded when it is first opened. */
export const RunPage = view(() => import('./views/run/run-page.tsx').then(m => m.RunPage));
export const SquadPage = view(() => import('./views/squad/squad-page.tsx').then(m => m.SquadPage));
export const ReviewsPage = view(() => import('./views/reviews/reviews-page.tsx').then(m => m.ReviewsPage));
export const BacklogPage = view(() => import('./views/backlog/backlog-page.tsx').then(m => m.BacklogPage));
export const DecisionsPage = view(() =>
  import('./views/decisions/decisions-page.tsx').then(m => m.DecisionsPage),
);
export const CostPage = view(() => import('./views/cost/cost-page.tsx').then(m => m.CostPage));
export const GatewayPage = view(() => import('./views/gateway/gateway-page.tsx').then(m => m.GatewayPage));
export const EventsPage = view(() => import('./views/events/events-page.tsx').then(m => m.EventsPage));
export const SettingsPage = view(() =>
  import('./views/settings/settings-page.tsx').then(m => m.SettingsPage),
);
export const InboxPage = view(() => import('./views/inbox/inbox-page.tsx').then(m => m.InboxPage));

function view(load: () => Promise<ComponentType>): ComponentType {
  return lazy(load);
}
