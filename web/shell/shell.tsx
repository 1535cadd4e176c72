import './shell.css';
import type { ComponentChildren } from 'preact';
import { connection } from '../state/live.ts';
import { useWorkspaceInAddress } from '../state/workspace.ts';
import { Toasts } from '../ui/toast.tsx';
import { Announcer } from './announcer.tsx';
import { Banner, isStale } from './banner.tsx';
import { Locked } from './locked.tsx';
import { Navigation } from './navigation.tsx';
import { Notifier } from './notifier.tsx';
import { Overlays } from './overlays.tsx';
import { Scope } from './scope.tsx';
import { TabTitle } from './tab-title.tsx';
import { TopBar } from './top-bar.tsx';

export function Shell({ children }: { children: ComponentChildren }) {
  return connection.value === 'locked' ? <Locked /> : <Unlocked>{children}</Unlocked>;
}

function Unlocked({ children }: { children: ComponentChildren }) {
  useWorkspaceInAddress();
  return (
    <>
      <a class="skip" href="#main">
        To the content
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
