import { ApiError } from '../state/api.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { isStale } from './banner.tsx';
import type { WaitProps } from './later.tsx';

/** Placeholder that is shown until a view is loaded. */
export function ViewWait({ hasFailed, retry }: WaitProps) {
  if (!hasFailed && !isStale())
    return (
      <p class="soft" role="status">
        Loading…
      </p>
    );
  return (
    <>
      <h1 class="unseen">Not loaded</h1>
      <NotLoaded what="This view" retry={retry} />
    </>
  );
}

/** Placeholder that is shown until an overlay is loaded. */
export function OverlayWait({ hasFailed, retry, onClose }: WaitProps) {
  if ((!hasFailed && !isStale()) || !onClose) return null;
  return (
    <Dialog title="Not loaded" onClose={onClose}>
      <NotLoaded what="This dialog" retry={retry} />
    </Dialog>
  );
}

function NotLoaded({ what, retry }: { what: string; retry(): void }) {
  const error = isStale()
    ? new ApiError('HUB_UNREACHABLE', `${what} could not be loaded: the hub does not answer`, [
        'This view loads as soon as the hub answers. To start the hub, run `squad open`.',
      ])
    : new ApiError('PAGE_ERROR', `${what} could not be loaded`, ['If this happens again, reload the page.']);
  return <Problem error={error} onRetry={retry} />;
}
