import { useEffect } from 'preact/hooks';
import { LocationProvider, Route, Router, useLocation, useRoute } from 'preact-iso';
import {
  BacklogPage,
  CostPage,
  DecisionsPage,
  EventsPage,
  GatewayPage,
  InboxPage,
  loadViews,
  ReviewsPage,
  RunPage,
  SearchPage,
  SettingsPage,
  SquadPage,
} from './routes.ts';
import { SafeView } from './shell/safe-view.tsx';
import { Shell } from './shell/shell.tsx';
import { connection } from './state/live.ts';
import { Empty } from './ui/empty.tsx';
import { RunsPage } from './views/runs/board/runs-page.tsx';

/** After the first view is drawn and the palette is there. */
const LOAD_REST_MS = 1_500;

export function App() {
  return (
    <LocationProvider>
      <Shell>
        <Views />
      </Shell>
    </LocationProvider>
  );
}

function Views() {
  const { url } = useLocation();
  const isLive = connection.value === 'live';
  useEffect(() => {
    if (!isLive) return;
    const timer = setTimeout(() => void loadViews(), LOAD_REST_MS);
    return () => clearTimeout(timer);
  }, [isLive]);
  return (
    <SafeView url={url}>
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
        <Route path="/search" component={SearchPage} />
        <Route path="/settings" component={SettingsPage} />
        <Route default component={Nowhere} />
      </Router>
    </SafeView>
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
      <Empty title="Page not found">
        <a href="/">All runs</a>
      </Empty>
    </>
  );
}
