import { useEffect } from 'preact/hooks';
import { LocationProvider, Route, Router, useLocation, useRoute } from 'preact-iso';
import { loadViews, PAGES, RunPage, SquadPage } from './routes.ts';
import { SafeView } from './shell/safe-view.tsx';
import { Shell } from './shell/shell.tsx';
import { connection } from './state/live.ts';
import { Empty } from './ui/empty.tsx';
import { RunsPage } from './views/runs/board/runs-page.tsx';

/** Delay before the other views are loaded, so that they do not slow the first one. */
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
        <Route path="/r/:run/:tab?" component={OneRun} />
        <Route path="/s/:squad" component={OneSquad} />
        {Object.entries(PAGES).map(([path, page]) => (
          <Route key={path} path={path} component={page} />
        ))}
        <Route default component={NotFound} />
      </Router>
    </SafeView>
  );
}

/** With the key, each run gets a new page without state of the previous one. */
function OneRun() {
  return <RunPage key={useRoute().params.run} />;
}

function OneSquad() {
  return <SquadPage key={useRoute().params.squad} />;
}

function NotFound() {
  return (
    <>
      <h1 class="unseen">Not found</h1>
      <Empty title="Page not found">
        <a href="/">All runs</a>
      </Empty>
    </>
  );
}
