import './saved.css';
import { LocationProvider, Route, Router, useRoute } from 'preact-iso';
import { shellWord } from '../../src/schema/shell-word.ts';
import type { SavedRun } from '../state/saved.ts';
import { Command } from '../ui/copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { Ago } from '../ui/time.tsx';
import { Toasts } from '../ui/toast.tsx';
import { RunPage } from '../views/runs/run/run-page.tsx';
import { SquadPage } from '../views/runs/squad/squad-page.tsx';

/** The pages of a saved run and its squad, from one file. */
export function SavedApp({ saved }: { saved: SavedRun }) {
  return (
    <LocationProvider>
      <SavedHead saved={saved} />
      <main id="main" tabIndex={-1}>
        <Router>
          <Route path="/r/:run/:tab?" component={OneRun} />
          <Route path="/s/:squad" component={OneSquad} />
          <Route default component={NotHere} />
        </Router>
      </main>
      <Toasts />
    </LocationProvider>
  );
}

function OneRun() {
  return <RunPage key={useRoute().params.run} />;
}

function OneSquad() {
  return <SquadPage key={useRoute().params.squad} />;
}

/** Name of the saved run, when it was saved, and what was left out. */
function SavedHead({ saved: { run, savedAt, version, leftOut } }: { saved: SavedRun }) {
  return (
    <header class="saved-head">
      <a class="logo" href={`/r/${run}`}>
        Squad
      </a>
      <span>
        Run saved <Ago at={savedAt} /> <span class="soft">(Squad {version})</span>
      </span>
      <span class="soft">
        On the machine that ran it: <Command text={`squad open ${shellWord(run)}`} />
      </span>
      {leftOut.length > 0 && (
        <details>
          <summary class="tone-ask">Parts of the run were left out</summary>
          <ul>
            {leftOut.map(what => (
              <li key={what}>{what}</li>
            ))}
          </ul>
        </details>
      )}
    </header>
  );
}

function NotHere() {
  return <Empty title="Not in this file">A saved file contains one run and its squad.</Empty>;
}
