/** Splits `ctrl+k`, `g r`, `?` or `enter` into steps, in lower case except for single capital letters. */
export function stepsOf(key: string): string[] {
  return key.split(' ').map(step => {
    const parts = step.length > 1 ? step.split('+') : [step];
    const last = parts.pop()!;
    return [...parts.map(part => part.toLowerCase()), ALIASES[last.toLowerCase()] ?? last].join('+');
  });
}

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/**
 * Name of a key press, as used in bindings. Null for a modifier alone and for combinations with Alt, which belong to
 * the system. Ctrl and ⌘ have the same name.
 */
export function stepPressed({ key, ctrlKey, metaKey, altKey }: Pressed): string | null {
  if (altKey || key === 'Control' || key === 'Meta' || key === 'Shift' || key === 'Alt') return null;
  const name = key === ' ' ? 'space' : key.length > 1 ? key.toLowerCase() : key;
  return ctrlKey || metaKey ? `ctrl+${name.toLowerCase()}` : name;
}

const ALIASES: Record<string, string> = {
  esc: 'escape',
  up: 'arrowup',
  down: 'arrowdown',
  left: 'arrowleft',
  right: 'arrowright',
  enter: 'enter',
  escape: 'escape',
  space: 'space',
  home: 'home',
  end: 'end',
  tab: 'tab',
};

const SHOWN: Record<string, string> = {
  escape: 'esc',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
};

const IS_MAC = /Mac|iP/.test(globalThis.navigator?.platform ?? '');

/** A key as it is shown to a person. */
export function shownKey(key: string, isMac = IS_MAC): string {
  return stepsOf(key)
    .map(step =>
      step.replace(/^ctrl\+(.)$/, (_, letter: string) => `${isMac ? '⌘' : 'Ctrl '}${letter.toUpperCase()}`),
    )
    .map(step => SHOWN[step] ?? step)
    .join(' ');
}

/** Whether the steps pressed so far are this key, or the beginning of it. */
export function matchOf(key: string, pressed: readonly string[]): 'whole' | 'begins' | null {
  const steps = stepsOf(key);
  if (pressed.length > steps.length || pressed.some((step, index) => step !== steps[index])) return null;
  return pressed.length === steps.length ? 'whole' : 'begins';
}
