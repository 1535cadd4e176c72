import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { withQuery } from './url-state.ts';

/** Absolute path of the chosen workspace. Null for all workspaces. It is `?w=` in the address. */
export const workspace = signal<string | null>(
  globalThis.location ? new URLSearchParams(location.search).get('w') : null,
);

/** Keeps `?w=` in the address, so that links between views need not contain it. */
export function useWorkspaceInAddress(): void {
  const { url, route } = useLocation();
  const chosen = workspace.value;
  const inAddress = new URLSearchParams(url.split('?')[1] ?? '').get('w');
  useEffect(() => {
    if (inAddress !== null && inAddress !== workspace.peek()) workspace.value = inAddress;
  }, [inAddress]);
  useEffect(() => {
    const now = location.pathname + location.search;
    const wanted = withQuery(now, { w: workspace.peek() });
    if (wanted !== now) route(wanted + location.hash, true);
  }, [url, chosen]);
}
