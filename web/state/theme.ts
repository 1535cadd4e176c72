import { signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'squad-theme';

/** The user's theme. The browser stores it for the address of the web UI, which lasts as long as its hub. */
export const theme = signal<Theme>('system');

/** Call once at startup. */
export function restoreTheme(): void {
  const stored = localStorage.getItem(KEY);
  setTheme(THEMES.find(name => name === stored) ?? 'system');
}

export function setTheme(name: Theme): void {
  theme.value = name;
  if (name === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, name);
  // Every colour is defined by `light-dark()`, which follows this property.
  document.documentElement.style.colorScheme = name === 'system' ? '' : name;
}
