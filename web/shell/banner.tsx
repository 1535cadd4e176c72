import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isStranger } from '../state/hub-proof.ts';
import { connection, isHubStopped } from '../state/live.ts';
import { saved } from '../state/saved.ts';
import { Command } from '../ui/copy.tsx';
import { Ago } from '../ui/time.tsx';

/** True while the data shown may be outdated. */
export const isStale = (): boolean => connection.value === 'reconnecting' || connection.value === 'offline';

/** Says why and since when data is outdated. `--banner` reserves space below the page, so the banner covers no content. */
export function Banner() {
  const stale = isStale();
  const [since, setSince] = useState(Date.now());
  useEffect(() => {
    if (stale) setSince(Date.now());
  }, [stale]);
  const isShown = stale && !saved;
  const strip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = strip.current;
    if (!element) return;
    const { style } = document.documentElement;
    const sizes = new ResizeObserver(() => style.setProperty('--banner', `${element.offsetHeight}px`));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      style.removeProperty('--banner');
    };
  }, [isShown]);
  if (!isShown) return null;
  return (
    <div class="banner" role="status" ref={strip}>
      {isStranger.value ? (
        <span>
          <strong>The hub that served this page has stopped.</strong> A newer hub or another program uses its
          port now, and this tab has sent nothing to that program. The data shown is from <Ago at={since} />.
          To reopen the web UI: <Command text="squad open" />
        </span>
      ) : isHubStopped.value ? (
        <span>
          <strong>The hub was stopped.</strong> The data shown is from <Ago at={since} />. To start it:{' '}
          <Command text="squad open" />
        </span>
      ) : connection.value === 'reconnecting' ? (
        <span>
          <strong>Connection lost, reconnecting.</strong> The data shown is from <Ago at={since} />. If the
          hub was killed, start it again: <Command text="squad open" />
        </span>
      ) : (
        <span>
          <strong>The hub does not answer.</strong> The data shown is from <Ago at={since} />. Agents keep
          working until they need the hub. To bring the hub back: <Command text="squad open" />
        </span>
      )}
    </div>
  );
}
