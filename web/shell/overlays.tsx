import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Binding, keysNow, restKeys, useKeys } from '../keys.ts';
import { AskFirst } from './ask-first.tsx';
import { later } from './later.tsx';
import { ReviewActionDialog } from './review-action.tsx';
import { RunActionDialog } from './run-action.tsx';
import type { StartedLike } from './start-command.ts';
import { OverlayWait } from './view-wait.tsx';

/** The palette is loaded soon after the first view, before a fast typist needs it. */
const PRELOAD_MS = 500;

type Open = { name: 'palette' | 'help'; keys: Binding[] } | { name: 'start'; like?: StartedLike } | null;

const open = signal<Open>(null);
const close = () => {
  open.value = null;
};
// Keys typed while an overlay loads must not trigger keys of the view below.
effect(() => restKeys(open.value && close));

// The keys of the view are read before the dialog opens, because an open dialog turns them off.
export const openPalette = () => {
  open.value = { name: 'palette', keys: keysNow() };
};
const openHelp = () => {
  open.value = { name: 'help', keys: keysNow() };
};
export const openStart = (like?: StartedLike) => {
  open.value = { name: 'start', like };
};

const Palette = later(() => import('./palette.tsx').then(m => m.Palette), OverlayWait);
const Help = later(() => import('./help.tsx').then(m => m.Help), OverlayWait);
const StartRun = later(() => import('./start-run.tsx').then(m => m.StartRun), OverlayWait);

async function loadAll(): Promise<void> {
  for (const one of [Palette, StartRun, Help]) await one.preload();
}

/** Dialogs that can open over every view. */
export function Overlays() {
  useKeys([
    { key: 'ctrl+k', what: 'Commands, views and runs', run: openPalette },
    { key: '?', what: 'Keyboard shortcuts', run: openHelp },
    { key: 'N', what: 'Start a run', run: () => openStart() },
  ]);
  useEffect(() => {
    const timer = setTimeout(loadAll, PRELOAD_MS);
    return () => clearTimeout(timer);
  }, []);
  const now = open.value;
  return (
    <>
      {now?.name === 'palette' && <Palette keys={now.keys} onClose={close} />}
      {now?.name === 'help' && <Help keys={now.keys} onClose={close} />}
      {now?.name === 'start' && <StartRun like={now.like} onClose={close} />}
      <RunActionDialog />
      <ReviewActionDialog />
      <AskFirst />
    </>
  );
}
