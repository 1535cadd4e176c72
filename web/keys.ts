import { useLayoutEffect, useRef } from 'preact/hooks';
import { matchOf, stepPressed } from './key-names.ts';

export interface Binding {
  /** Key or sequence, like `j`, `g r`, `ctrl+k`, `enter`. */
  key: string;
  /** Description of the action, shown in the help and the palette. */
  what: string;
  run(): void;
  /** True if the action repeats while the key is held down. Only for keys that move the focus. */
  repeats?: true;
  /** Returns whether the binding is active. If not, other bindings may use the key. */
  when?: () => boolean;
}

/** Maximum time between the two keys of a sequence. */
const TOGETHER_MS = 1_000;

/** The table mounted last comes first, so keys of a view override keys of the shell. */
const tables: { bindings: Binding[] }[] = [];
let pressed: string[] = [];
let giveUp: (() => void) | null = null;
let lastPress = 0;

/** Binds keys while the component is mounted. They are off while the user types and while a dialog is open. */
export function useKeys(bindings: Binding[]): void {
  const table = useRef({ bindings });
  table.current.bindings = bindings;
  // A layout effect, so that the keys work as soon as their view is visible.
  useLayoutEffect(() => {
    const mine = table.current;
    tables.unshift(mine);
    return () => void tables.splice(tables.indexOf(mine), 1);
  }, []);
}

/** All active bindings, one per key. */
export function keysNow(): Binding[] {
  const known = new Set<string>();
  return tables
    .flatMap(({ bindings }) => bindings)
    .filter(({ key, when }) => {
      if (known.has(key) || when?.() === false) return false;
      known.add(key);
      return true;
    });
}

/** The active binding of a key. A button uses it to do the same as the key. */
export const bindingOf = (key: string): Binding | undefined => keysNow().find(one => one.key === key);

/** Turns keys off while an overlay is loading; escape then calls `onEscape`. Null turns them on again. */
export function restKeys(onEscape: (() => void) | null): void {
  giveUp = onEscape;
}

/** Call once at startup. */
export function listenToKeys(): void {
  addEventListener('keydown', onKey);
}

function onKey(event: KeyboardEvent): void {
  const step = stepPressed(event);
  if (giveUp && step === 'escape' && !document.querySelector('dialog[open]')) giveUp();
  if (step === null || event.defaultPrevented) return;
  if (event.repeat) onHeld(event, step);
  else if (!isTaken(event, step)) onPress(event, step);
}

function onPress(event: KeyboardEvent, step: string): void {
  const now = performance.now();
  pressed = now - lastPress < TOGETHER_MS ? [...pressed, step] : [step];
  lastPress = now;
  const keys = keysNow();
  const found = wholeMatch(keys) ?? afresh(keys, step);
  if (found) {
    pressed = [];
    event.preventDefault();
    found.run();
  } else if (!keys.some(({ key }) => matchOf(key, pressed) === 'begins')) pressed = [];
}

/** A held key repeats only movements, because one press triggers one action. */
function onHeld(event: KeyboardEvent, step: string): void {
  const { target } = event;
  if (step === 'enter' && target instanceof HTMLElement && target.matches('button, summary'))
    event.preventDefault();
  if (isTaken(event, step)) return;
  const found = keysNow().find(({ key }) => matchOf(key, [step]) === 'whole');
  if (!found) return;
  event.preventDefault();
  if (found.repeats) found.run();
}

const wholeMatch = (keys: Binding[]) => keys.find(({ key }) => matchOf(key, pressed) === 'whole');

/** If no sequence matches the presses so far, tries the last press alone. */
function afresh(keys: Binding[], step: string): Binding | undefined {
  if (keys.some(({ key }) => matchOf(key, pressed) === 'begins')) return undefined;
  pressed = [step];
  return wholeMatch(keys);
}

/** True while the user types, a dialog is open, or the focused element uses the key itself. */
function isTaken({ target }: KeyboardEvent, step: string): boolean {
  if (giveUp || document.querySelector('dialog[open]')) return true;
  if (!(target instanceof HTMLElement) || step.startsWith('ctrl+')) return false;
  if (target.isContentEditable || target.matches('textarea, select')) return true;
  if (target instanceof HTMLInputElement)
    return !/^(checkbox|radio|button|submit)$/.test(target.type) || step === 'space' || step === 'enter';
  return (step === 'enter' || step === 'space') && target.matches('a, button, summary');
}
