import './shell.css';
import { effect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../src/base/text.ts';
import { runName } from '../../src/schema/run-text.ts';
import { shownStatus } from '../../src/schema/shown-status.ts';
import { useKeys } from '../keys.ts';
import { type Changes, card, connection, inbox, isInboxKnown, onChanges } from '../state/live.ts';
import { notify } from '../state/notifications.ts';
import { useQuery } from '../state/query.ts';
import { viewTitle } from '../state/view-title.ts';
import { waiting } from '../state/waiting.ts';
import { useWorkspaceInAddress, workspace } from '../state/workspace.ts';
import { Command } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { statusStyle } from '../ui/status-style.ts';
import { Toasts } from '../ui/toast.tsx';
import { Banner, isStale } from './banner.tsx';
import { askNotice, failureNotice } from './notices.ts';
import { Overlays } from './overlays.tsx';
import { TopBar } from './top-bar.tsx';
import { VIEWS } from './views.ts';
import { WorkspacePicker } from './workspace-picker.tsx';

/** Announces questions and ends of runs to screen readers, but no output of agents. */
function Announcer() {
  const [text, setText] = useState('');
  useEffect(
    () =>
      onChanges(changes => {
        const said = announcements(changes);
        if (said.length > 0) setText(said.slice(-3).join('. '));
      }),
    [],
  );
  return (
    <p class="unseen" role="status" aria-live="polite">
      {text}
    </p>
  );
}

function announcements({ events }: Changes): string[] {
  return events.flatMap(({ runId, body }) => {
    if (runId === null) return [];
    const run = card(runId).peek();
    const who = run ? runName(run) : 'a run';
    if (body.type === 'inbox.asked' && body.item.owner === 'user') return [`${who} needs you`];
    if (body.type === 'run.ended') return [`${who} ${statusStyle(shownStatus(body)).word}`];
    return [];
  });
}

/** Page of a browser without a session. The files of the web UI are public, but the data of the hub is not. */
function Locked() {
  return (
    <main class="locked">
      <h1>Squad</h1>
      <p>This tab is not signed in to the hub. Open the web UI from a terminal:</p>
      <p>
        <Command text="squad open" />
      </p>
      <p class="soft">
        The address it opens contains a key that works once, within 10 minutes. The session then lasts until
        the hub stops, or until an hour after you close the tab. Other tabs at the same address share the
        session.
      </p>
    </main>
  );
}

function Navigation() {
  const { path, url, route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [url]);
  useKeys(
    VIEWS.map(({ name, href, key }) => ({
      key,
      what: `Go to ${name.toLowerCase()}`,
      run: () => route(href),
    })),
  );
  const many = waiting.value.size;
  const here = VIEWS.find(({ href }) => href === path);
  return (
    <nav class={`views ${isOpen ? 'is-open' : ''}`} aria-label="Views">
      <button type="button" class="button quiet fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="menu" />
        {here?.name ?? 'Views'}
        {many > 0 && <span class="badge">{many} waiting</span>}
      </button>
      <ul>
        {VIEWS.map(({ name, href }) => (
          <li key={href}>
            <a href={href} aria-current={href === path ? 'page' : undefined}>
              {name}
              {href === '/inbox' && many > 0 && <span class="badge">{many}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Shows notifications for new questions and failed runs. */
function Notifier() {
  const { route } = useLocation();
  const open = useRef(route);
  open.current = route;
  useEffect(() => {
    /** Items that were already open when the tab was opened cause no notification. */
    let seen: Set<string> | null = null;
    const stopAsks = effect(() => {
      if (!isInboxKnown.value) return;
      const asks = inbox.value.filter(({ owner }) => owner === 'user');
      const before = seen;
      seen = new Set(asks.map(({ id }) => id));
      for (const item of before ? asks.filter(({ id }) => !before.has(id)) : [])
        notify(askNotice(item, card(item.runId).peek()), href => open.current(href));
    });
    const stopFailures = onChanges(({ events }) => {
      for (const event of events) {
        const notice = failureNotice(event, event.runId === null ? undefined : card(event.runId).peek());
        if (notice) notify(notice, href => open.current(href));
      }
    });
    return () => {
      stopAsks();
      stopFailures();
    };
  }, []);
  return null;
}

/** Views with a workspace filter above them; the list of runs has its own. */
const SCOPED = ['/reviews', '/merge', '/backlog', '/decisions', '/cost', '/chats', '/search'];

/** Workspace filter above a view. */
function Scope() {
  const { path } = useLocation();
  const isScoped = SCOPED.includes(path);
  const { data } = useQuery('list_workspaces', isScoped ? {} : null);
  if (!isScoped || (workspace.value === null && (data?.workspaces.length ?? 0) < 2)) return null;
  return (
    <p class="scope">
      <WorkspacePicker />
    </p>
  );
}

/** Title of the tab, with the number of runs that wait for the user. */
function TabTitle() {
  const { path } = useLocation();
  const many = waiting.value.size;
  const view = viewTitle.value ?? VIEWS.find(({ href }) => href === path)?.name;
  useEffect(() => {
    const name = view === undefined ? 'Squad' : `${visibleText(view)} · Squad`;
    document.title = many > 0 ? `(${many}) ${name}` : name;
  }, [many, view]);
  return null;
}

export function Shell({ children }: { children: ComponentChildren }) {
  return connection.value === 'locked' ? <Locked /> : <Unlocked>{children}</Unlocked>;
}

function Unlocked({ children }: { children: ComponentChildren }) {
  useWorkspaceInAddress();
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <TopBar />
      <Navigation />
      <main id="main" tabIndex={-1} class={isStale() ? 'is-stale' : ''}>
        <Scope />
        {children}
      </main>
      <Overlays />
      <div class="notices">
        <Toasts />
        <Banner />
      </div>
      <TabTitle />
      <Announcer />
      <Notifier />
    </>
  );
}
