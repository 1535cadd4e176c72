const PATHS = {
  hand: 'M5 8V3.5a1 1 0 0 1 2 0V7m0-.5v-4a1 1 0 0 1 2 0V7m0-.5v-3a1 1 0 0 1 2 0V8m0-1.5a1 1 0 0 1 2 0V10a4.5 4.5 0 0 1-4.5 4.500c-2 0-3-1-4-2.500L2.7 9.600a1 1 0 0 1 1.6-1.200L5 9',
  cross: 'M4 4l8 8M12 4l-8 8',
  half: 'M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12M8 2v12',
  clock: 'M8 2a6 6 0 1 1 0 12a6 6 0 1 1 0-12M8 5v3.500l2 1.5',
  check: 'M3 8.500l3.5 3.500L13 4.5',
  stop: 'M4.5 4.500h7v7h-7z',
  eye: 'M1.5 8S4 3.5 8 3.500S14.5 8 14.5 8S12 12.5 8 12.500S1.5 8 1.5 8M8 6.200a1.8 1.8 0 1 1 0 3.600a1.8 1.8 0 1 1 0-3.6',
  warn: 'M8 2L1.5 13.500h13zM8 6.500v3.200M8 11.800v.2',
  copy: 'M5.5 5.500v-3h8v8h-3M2.5 5.500h8v8h-8z',
  search: 'M7 2.500a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9M10.5 10.500l3 3',
  menu: 'M2 4h12M2 8h12M2 12h12',
  link: 'M6.5 9.500l3-3M7 4.500l1.5-1.500a3 3 0 0 1 4.5 4.500L11.5 9M9 11.500L7.5 13A3 3 0 0 1 3 8.500L4.5 7',
  plus: 'M8 3v10M3 8h10',
  merge:
    'M4.5 5.500v5M4.5 2.500a1.5 1.5 0 1 1 0 3a1.5 1.5 0 1 1 0-3M4.5 10.500a1.5 1.5 0 1 1 0 3a1.5 1.5 0 1 1 0-3M11.5 7.500a1.5 1.5 0 1 1 0 3a1.5 1.5 0 1 1 0-3M4.5 5.500c0 2 2 3.500 5.5 3.500',
  more: 'M6 3.500L10.5 8L6 12.5',
} as const;

export type IconName = keyof typeof PATHS;

/** Hidden from screen readers: an icon always stands next to a word with the same meaning. */
export function Icon({ name, class: className = '' }: { name: IconName; class?: string }) {
  return (
    <svg class={`icon ${className}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
