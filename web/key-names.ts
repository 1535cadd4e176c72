/** `ctrl+k`, `g r`, `?`, `enter`: the steps of a key as it is written, each in lower case unless it is a capital letter. */
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

/** The step this press is; null: a modifier alone, or one of the system's. Ctrl and ⌘ are the same. */
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

/** As a person reads it. */
export function shownKey(key: string, isMac = false): string {
  return stepsOf(key)
    .map(step =>
      step.replace(/^ctrl\+(.)$/, (_, letter: string) => `${isMac ? '⌘' : 'Ctrl '}${letter.toUpperCase()}`),
    )
    .map(step => SHOWN[step] ?? step)
    .join(' ');
}

/**
 * Whether the steps pressed so far are this key, or how it begins.
 */
export function matchOf(key: string, pressed: readonly string[]): 'whole' | 'begins' | null {
  const steps = stepsOf(key);
  if (pressed.length > steps.length || pressed.some((step, index) => step !== steps[index])) return null;
  return pressed.length === steps.length ? 'whole' : 'begins';
}
