import '../../views.css';
import './first-run.css';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Output } from '../../../../src/operations/operations.ts';
import { folderError } from '../../../shell/folder-error.ts';
import { openStart } from '../../../shell/overlays.tsx';
import { call } from '../../../state/api.ts';
import { useQuery } from '../../../state/query.ts';
import { workspace } from '../../../state/workspace.ts';
import { Button } from '../../../ui/button.tsx';
import { Command } from '../../../ui/copy.tsx';
import { plural } from '../../../ui/figures.ts';
import { PlainLine } from '../../../ui/plain.tsx';
import { StatusMark } from '../../../ui/status.tsx';
import type { StatusStyle } from '../../../ui/status-style.ts';
import { notifyResult } from '../../notify-result.ts';
import { sentences } from '../../sentences.ts';

const OK: StatusStyle = { word: 'ok', icon: 'check', tone: 'good' };
const MISSING: StatusStyle = { word: 'missing', icon: 'cross', tone: 'bad' };
const NOTE: StatusStyle = { word: 'note', icon: 'warn', tone: 'ask' };

/**
 * Page that is shown while there are no runs. It shows which requirements are met, and the ways to start a first run.
 */
export function FirstRun() {
  const { route } = useLocation();
  const path = workspace.value;
  return (
    <section class="first-run" aria-labelledby="first-title">
      <h2 id="first-title">{path === null ? 'No runs yet' : 'No runs in this project yet'}</h2>
      {path === null ? (
        <p class="soft">Open a project to see whether everything is ready, or watch the demo first.</p>
      ) : (
        <Checks path={path} />
      )}
      <OpenFolder />
      <p class="first-actions">
        {path !== null && (
          <Button tone="main" icon="plus" keyName="N" onClick={() => openStart()}>
            Start a run
          </Button>
        )}
        <Button
          onClick={() =>
            void notifyResult(call('start_demo', {}), ({ squadId }) => {
              route(`/s/${squadId}`);
              return 'Started the demo.';
            })
          }
        >
          Start the demo
        </Button>
        <span class="soft">
          The demo is a squad of four in a throw-away repository. It follows a script and calls no model.
        </span>
      </p>
      {path !== null && (
        <p>
          <Button tone="quiet" onClick={() => (workspace.value = null)}>
            Show the runs of all workspaces
          </Button>
        </p>
      )}
      <p class="soft">From a terminal, in your project:</p>
      <Command text={'squad run coder "Add a health check"'} />
    </section>
  );
}

function Checks({ path }: { path: string }) {
  const { data, error } = useQuery('inspect_workspace', {}, { workspace: path });
  const engines = useQuery('inspect_engines', { look: true }, { workspace: path });
  if (error) return <p class="tone-bad">{sentences([error.message, ...error.suggestions])}</p>;
  if (!data)
    return (
      <p role="status" class="soft">
        Checking engines, roles and git…
      </p>
    );
  const { engine, roles, isRepository } = data;
  const faulty = roles.filter(({ fault }) => fault !== null);
  return (
    <ul class="first-checks">
      <li>
        <StatusMark style={engine.problem === null ? OK : MISSING} />
        <span>
          {engine.problem === null ? (
            <>
              Engine: <b>{engine.id}</b>
            </>
          ) : (
            <>
              <PlainLine text={sentences([engine.problem, ...engine.suggestions])} />
              <Installable engines={engines.data?.engines ?? []} />
            </>
          )}
        </span>
      </li>
      <li>
        <StatusMark style={roles.length === 0 ? MISSING : faulty.length > 0 ? NOTE : OK} />
        <span>
          {plural(roles.length, 'role')}: <PlainLine text={roles.map(({ id }) => id).join(', ')} />
          {faulty.length > 0 && (
            <>
              . Not usable: <PlainLine text={faulty.map(({ id }) => id).join(', ')} />,{' '}
              <a href="/settings">see why</a>
            </>
          )}
        </span>
      </li>
      <li>
        <StatusMark style={isRepository ? OK : NOTE} />
        <span>
          {isRepository
            ? 'A git repository: agents can work on branches of their own.'
            : 'Not a git repository: agents work in the folder itself, without branches, reviews and merges. '}
          {!isRepository && <code>git init</code>}
        </span>
      </li>
    </ul>
  );
}

/** Explains how to install an engine if none was found. */
function Installable({ engines }: { engines: Output<'inspect_engines'>['engines'] }) {
  const missing = engines.filter(({ program }) => program === null);
  if (missing.length === 0) return null;
  return (
    <details>
      <summary>How to install one</summary>
      <ul>
        {missing.map(({ id, name, install }) => (
          <li key={id}>
            {name}: <PlainLine text={install} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function OpenFolder() {
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState<string | null>(null);
  return (
    <form
      class="first-folder"
      onSubmit={event => {
        event.preventDefault();
        const path = typed.trim();
        const problem = folderError(path);
        setWrong(problem);
        if (problem === null) workspace.value = path;
      }}
    >
      <label>
        {workspace.value === null ? 'Project folder' : 'Another project folder'}
        <input
          type="text"
          required
          placeholder="/absolute/path/of/a/project"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={wrong !== null || undefined}
          value={typed}
          onInput={event => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button">
        Open
      </button>
      {wrong !== null && (
        <p class="field-error" role="alert">
          {wrong}
        </p>
      )}
    </form>
  );
}
