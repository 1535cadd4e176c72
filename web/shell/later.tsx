import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { fromHub } from '../state/from-hub.ts';
import { distrustHub, whoAnswers } from '../state/hub-proof.ts';
import { connection } from '../state/live.ts';
import { token } from '../state/token.ts';
import { toast } from '../ui/toast.tsx';

/** A page that fails again this soon after it was loaded anew would do so for ever. */
const TOO_SOON_MS = 30_000;

export interface WaitProps {
  hasFailed: boolean;
  retry(): void;
  /** Of what is waited for, if it can be closed. */
  onClose?(): void;
}

export type Later<P> = ComponentType<P> & {
  /** Never throws: what could not be loaded is told where it is opened. */
  preload(): Promise<void>;
};

/**
 * More of the page, loaded when it is first opened. A browser keeps in mind what it could not load: then the whole page is loaded
 * anew as soon as the hub answers, at the same address; of a hub that was updated since, it finds the new files.
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
      if (isFailed && isLive) void reloadFromHub();
    }, [isFailed, isLive]);
    if (View) return <View {...props} />;
    return <Wait hasFailed={isFailed} retry={() => void retry()} onClose={props.onClose} />;
  };
  return Object.assign(Shown as ComponentType<P>, { preload });
}

/** Only from the hub: a reload without it leaves nothing to be read. */
async function reloadFromHub(): Promise<void> {
  const [opened] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  if (opened?.type === 'reload' && performance.now() < TOO_SOON_MS) return;
  distrustHub();
  if ((await whoAnswers(token.value ?? '')) === 'hub') location.reload();
}
