import { LocationProvider, Route, Router, useRoute } from 'preact-iso';
import {
  BacklogPage,
  CostPage,
  DecisionsPage,
  EventsPage,
  GatewayPage,
  InboxPage,
  ReviewsPage,
  RunPage,
  SettingsPage,
  SquadPage,
} from './routes.ts';
import { Shell } from './shell/shell.tsx';
import { Empty } from './ui/empty.tsx';
import { RunsPage } from './views/runs/runs-page.tsx';

export function App() {
  return (
    <LocationProvider>
      <Shell>
        <Router>
          <Route path="/" component={RunsPage} />
          <Route path="/inbox" component={InboxPage} />
          <Route path="/r/:run/:tab?" component={OneRun} />
          <Route path="/s/:squad" component={OneSquad} />
          <Route path="/reviews" component={ReviewsPage} />
          <Route path="/backlog" component={BacklogPage} />
          <Route path="/decisions" component={DecisionsPage} />
          <Route path="/cost" component={CostPage} />
          <Route path="/gateway" component={GatewayPage} />
          <Route path="/events" component={EventsPage} />
          <Route path="/settings" component={SettingsPage} />
          <Route default component={Nowhere} />
        </Router>
      </Shell>
    </LocationProvider>
  );
}

/** Another run is another page: nothing of the one before stays in it. */
function OneRun() {
  return <RunPage key={useRoute().params.run} />;
}

function OneSquad() {
  return <SquadPage key={useRoute().params.squad} />;
}

function Nowhere() {
  return (
    <>
      <h1 class="unseen">Not found</h1>
      <Empty title="There is no such page">
        <a href="/">All runs</a>
      </Empty>
    </>
  );
}
