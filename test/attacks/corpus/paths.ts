const STEPS = [
  '../',
  '..\\',
  '..//',
  './../',
  '....//',
  '..;/',
  '%2e%2e/',
  '%2e%2e%2f',
  '..%2f',
  '..%5c',
  '%252e%252e%252f',
  '..%252f',
  '%c0%ae%c0%ae/',
  '%c0%ae%c0%ae%c0%af',
  '..%c0%af',
  '..%ef%bc%8f',
  '．．／',
  '..\u2215',
  '..\u2044',
  '..\u0000/',
  '.. /',
  '../\u202e',
];
const DEPTHS = [1, 2, 3, 5, 8, 12];

const RESERVED = ['CON', 'PRN', 'AUX', 'NUL', 'COM1', 'LPT9', 'con.md', 'nul.txt', 'aux.history'];

/** More than three hundred texts that lead to `file` (an absolute path), or out of where they are looked up, for whoever joins them to a folder. */
export function hostilePaths(file: string): string[] {
  const inside = file.replace(/^\//, '');
  const name = file.slice(file.lastIndexOf('/') + 1);
  const bare = name.replace(/\.[^.]*$/, '');
  const climbs = DEPTHS.flatMap(depth =>
    STEPS.flatMap(step => [`${step.repeat(depth)}${inside}`, `${step.repeat(depth)}${name}`]),
  );
  const near = STEPS.flatMap(step => [`${step}${bare}`, `x/${step}${step}${name}`]);
  const whole = [file, `file://${file}`, `/${file}`, `//localhost${file}`, `\\\\host\\share${file}`];
  const forms = [file, name, bare].flatMap(each => [
    `C:${each}`,
    `C:\\${each}`,
    `\\\\?\\C:\\${each}`,
    `${each}.`,
    `${each} `,
    `${each}::$DATA`,
    `${each}:stream`,
    `${each}\u0000.md`,
    `${each}%00.md`,
    `${each}/`,
    `${each}/.`,
    `./${each}`,
    `~/${each}`,
    `~root/${each}`,
    `$HOME/${each}`,
    `\u202e${each}`,
    `${each}\u200b`,
  ]);
  const odd = [
    '.',
    '..',
    '/',
    '\\',
    '',
    ' ',
    '*',
    '?',
    '[a-z]*',
    '-',
    '--',
    '-rf',
    '\u0000',
    '\n',
    'a'.repeat(10_000),
  ];
  const system = ['/etc/passwd', '/proc/self/environ', '/dev/zero', '/dev/stdin', '/proc/self/fd/0'];
  return [...climbs, ...near, ...whole, ...forms, ...RESERVED, ...odd, ...system];
}
