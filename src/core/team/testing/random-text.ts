/** Random numbers that depend only on the seed, so that a failing test fails again. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return below => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const PIECES = [
  ...[
    '#',
    '##',
    '###',
    '####',
    ' ',
    '\n',
    '\r\n',
    '\n\n',
    '---',
    '===',
    '|',
    '||',
    '| a | b |\n|---|---|\n',
    '\\|',
  ],
  ...[
    '- [ ] ',
    '- [x] ',
    '* [',
    '] ',
    '**By:** ',
    '**What:**',
    'Why:',
    'By',
    ':',
    '**',
    '__',
    '`',
    '```',
    '~~~',
    '<!--',
    '-->',
  ],
  ...[
    '2026-01-01',
    '2026-99-99',
    'T00:00Z',
    '(#12)',
    '@ann',
    '[P1]',
    '@',
    '(#',
    '  ',
    '\t',
    '> ',
    '1. ',
    '\u0000',
    '\ud800',
    '\u202e',
  ],
  ...[
    'word',
    'Name',
    'Role',
    'Status',
    '✅ Active',
    '—',
    '日本',
    'a'.repeat(400),
    '\u{1f534}',
    '[x](y)',
    '![',
    '](',
    '---\n',
  ],
];

/** Builds a random text from pieces of team files. */
export function weave(random: (below: number) => number): string {
  return Array.from({ length: random(120) }, () => PIECES[random(PIECES.length)]!).join('');
}
