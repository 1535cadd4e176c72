import { useEffect, useRef } from 'preact/hooks';
import { matchOf, stepPressed } from './key-names.ts';

export interface Binding {
  /** `j`, `g r`, `ctrl+k`, `enter`. */
  key: string;
  /** What it does, as `?` and the palette say it. */
  what: string;
  run(): void;
  /** It may go on while the key is held down: it moves, and nothing else. */
  repeats?: true;
  /** It does nothing now when this is false, and the key is free for others. */
  when?: () => boolean;
}

/** The second key of two has to come this soon. */
const TOGETHER_MS = 1_000;

/** What is mounted last comes first: a view's key before the shell's. */
const tables: { bindings: Binding[] }[] = [];
let pressed: string[] = [];
let giveUp: (() => void) | null = null;
let lastPress = 0;

/** Keys while the component is there. They rest while somebody types and while a dialog is open. */
export function useKeys(bindings: Binding[]): void {
  const table = useRef({ bindings });
  table.current.bindings = bindings;
  useEffect(() => {
    const mine = table.current;
    tables.unshift(mine);
    return () => void tables.splice(tables.indexOf(mine), 1);
  }, []);
}

/** Every key that does something now, a key only once. */
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

/** While something is about to open that wants the keys for itself, escape gives it up. Null: keys are keys again. */
export function restKeys(onEscape: (() => void) | null): void {
  giveUp = onEscape;
}

/** Once, at the start of the page. */
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

/** A key that is held down moves, and does nothing else: one press is one wish. */
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

/** What began as two keys and did not become one: the last press stands for itself. */
function afresh(keys: Binding[], step: string): Binding | undefined {
  if (keys.some(({ key }) => matchOf(key, pressed) === 'begins')) return undefined;
  pressed = [step];
  return wholeMatch(keys);
}

/** Somebody types, a dialog is open, or the element in focus has its own use for the key. */
function isTaken({ target }: KeyboardEvent, step: string): boolean {
  if (giveUp || document.querySelector('dialog[open]')) return true;
  if (!(target instanceof HTMLElement) || step.startsWith('ctrl+')) return false;
  if (target.isContentEditable || target.matches('textarea, select')) return true;
  if (target instanceof HTMLInputElement)
    return !/^(checkbox|radio|button|submit)$/.test(target.type) || step === 'space' || step === 'enter';
  return (step === 'enter' || step === 'space') && target.matches('a, button, summary');
}
