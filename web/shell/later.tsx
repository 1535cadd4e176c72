import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { fromHub } from '../state/from-hub.ts';
import { distrustHub, whoAnswers } from '../state/hub-proof.ts';
import { connection } from '../state/live.ts';
import { token } from '../state/token.ts';
import { toast } from '../ui/toast.tsx';

/**
 * Time after a reload in which a second load error does not reload the tab again, because the tab could reload forever.
 */
const TOO_SOON_MS = 30_000;

export interface WaitProps {
  hasFailed: boolean;
  retry(): void;
  /** Closes an overlay while it is still loading. */
  onClose?(): void;
}

export type Later<P> = ComponentType<P> & {
  /** Loads the code in advance. Never throws: a load error is shown when the view is opened. */
  preload(): Promise<void>;
};

/**
 * A view whose code is loaded when it is first opened. A browser caches a failed import, so after a failure the whole
 * tab is reloaded as soon as the hub answers. If the hub was updated in between, the reload finds the new files.
 */
export function later<P extends object>(
  load: () => Promise<ComponentType<P>>,
  Wait: ComponentType<WaitProps>,
): Later<P> {
  const loaded = signal<ComponentType<P> | null>(null);
  const hasFailed = signal(false);
  let loading: Promise<void> | null = null;
  const preload = () => {
    loading ??= fromHub(load).then(
      found => {
        loaded.value = found;
      },
      () => {
        hasFailed.value = true;
      },
    );
    return loading;
  };
  const retry = async () => {
    distrustHub();
    if ((await whoAnswers(token.value ?? '')) !== 'hub') toast('The hub does not answer yet.');
    else if (hasFailed.value) location.reload();
  };
  const Shown = (props: P & { onClose?(): void }) => {
    const View = loaded.value;
    const isFailed = hasFailed.value;
    const isLive = connection.value === 'live';
    useEffect(() => void preload(), []);
    useEffect(() => {
      if (!isFailed || !isLive) return;
      let isShown = true;
      void reloadFromHub(() => isShown);
      return () => {
        isShown = false;
      };
    }, [isFailed, isLive]);
    if (View) return <View {...props} />;
    return <Wait hasFailed={isFailed} retry={() => void retry()} onClose={props.onClose} />;
  };
  return Object.assign(Shown as ComponentType<P>, { preload });
}

/**
 * Reloads only while the hub answers: a reload without it would leave an empty tab. Not after the user has left the
 * view.
 */
async function reloadFromHub(isShown: () => boolean): Promise<void> {
  const [opened] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  if (opened?.type === 'reload' && performance.now() < TOO_SOON_MS) return;
  distrustHub();
  if ((await whoAnswers(token.value ?? '')) === 'hub' && isShown()) location.reload();
}
