const WRONG: unknown[] = [null, 7, -1, '', 'text', true, [], [null], {}, { text: 5 }];

/** Returns damaged variants of each line, cut off or with a value of another type, and lines that no engine prints. */
export function hostileLines(lines: string[]): string[] {
  return [
    ...STRAYS,
    ...lines
      .filter(Boolean)
      .flatMap(line => [
        line.slice(0, line.length / 2),
        ...variants(JSON.parse(line)).map(value => JSON.stringify(value)),
      ]),
  ];
}

const STRAYS = [
  '',
  '{',
  'null',
  '[1]',
  '"text"',
  '{"type":"never_heard_of","part":{"a":1}}',
  '{"type":["tool_use"]}',
  '{"type":"result"}',
  '\uFFFD\uFFFD{"type":"text"}',
  `{"type":"text","part":{"text":"${'x'.repeat(1 << 20)}"}}`,
];

function variants(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return WRONG;
  return Object.entries(value).flatMap(([key, inner]) =>
    variants(inner).map(other => ({ ...value, [key]: other })),
  );
}
