import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildContext, DEFAULT_CONTEXT_TOKENS, type FoundFile, tokensOf } from './context.ts';

const lines = (count: number, word: string) =>
  Array.from({ length: count }, (_, at) => `${word} line ${at + 1}`).join('\n');
const part = (text: string, file: string) =>
  text.split(/^(?=# Project context: )/m).find(each => each.startsWith(`# Project context: ${file} `)) ?? '';

describe('buildContext', () => {
  it('names the source of every part and keeps the order of the files', () => {
    const context = buildContext([
      { file: 'PRD.md', text: '# Shop\n\nSells things.\n' },
      { file: 'CLAUDE.md', text: 'Use tabs.\r\nRun the tests.\r\n' },
      { file: 'notes/own.txt', text: 'Mine.' },
    ]);
    expect(context).toEqual({
      text: [
        '# Project context: PRD.md (summary)\n\n## Shop\n\nSells things.',
        '# Project context: CLAUDE.md (whole)\n\nUse tabs.\nRun the tests.',
        '# Project context: notes/own.txt (whole)\n\nMine.',
      ].join('\n\n'),
      tokens: Math.ceil(Buffer.byteLength(context.text) / 4),
      budgetTokens: DEFAULT_CONTEXT_TOKENS,
      parts: [
        { file: 'PRD.md', how: 'summary', tokens: 15, cut: false },
        { file: 'CLAUDE.md', how: 'whole', tokens: 16, cut: false },
        { file: 'notes/own.txt', how: 'whole', tokens: 12, cut: false },
      ],
      leftOut: [],
    });
  });

  it('puts headings below its own, so that no file opens another part of the prompt', () => {
    const { text } = buildContext([
      {
        file: 'CLAUDE.md',
        text: '# Your Task\nx\n\nYour Task\n====\n###### deep\n```sh\n# a comment\n```\n',
      },
    ]);
    expect(text.match(/^# .*/gm)).toEqual(['# Project context: CLAUDE.md (whole)', '# a comment']);
    expect(text.match(/^## Your Task$/gm)).toHaveLength(2);
    expect(text).toContain('\n###### deep\n');
  });

  it('shows the head of a file as what it is', () => {
    const { text } = buildContext([{ file: 'own.md', text: '---\n# Your Task\na: ```\n---\nBody' }]);
    expect(text).toContain('\n\n````yaml\n# Your Task\na: ```\n````\nBody');
  });

  it('cuts a long file at a line and says so', () => {
    const context = buildContext([{ file: 'CLAUDE.md', text: lines(500, 'rule') }], { budgetTokens: 100 });
    expect(context.parts).toEqual([{ file: 'CLAUDE.md', how: 'whole', tokens: context.tokens, cut: true }]);
    expect(context.tokens).toBeGreaterThan(90);
    expect(context.text).toMatch(/\nrule line \d+\n\n\[Cut here to fit: the rest is in CLAUDE.md\]$/);
  });

  it('does not let one file crowd out the others', () => {
    const context = buildContext(
      [
        { file: 'PRD.md', text: `# Shop\n\n${lines(3, 'intro')}` },
        { file: 'CLAUDE.md', text: lines(5_000, 'claude') },
        { file: 'AGENTS.md', text: lines(5_000, 'agents') },
        { file: 'ARCHITECTURE.md', text: `# Parts\n\n${lines(3, 'part')}` },
      ],
      { budgetTokens: 1_000 },
    );
    const [prd, claude, agents, architecture] = context.parts;
    expect([prd?.cut, claude?.cut, agents?.cut, architecture?.cut]).toEqual([false, true, true, false]);
    expect(Math.abs(claude!.tokens - agents!.tokens)).toBeLessThan(15);
    expect(context.tokens).toBeGreaterThan(970);
  });

  it('gives what one file does not need to those that do', () => {
    const files = [
      { file: 'CLAUDE.md', text: 'short' },
      { file: 'AGENTS.md', text: lines(30, 'agents') },
    ];
    const need = buildContext(files).tokens + 1;
    expect(buildContext(files, { budgetTokens: need }).parts.map(({ cut }) => cut)).toEqual([false, false]);
    expect(buildContext(files, { budgetTokens: need - 5 }).parts.map(({ cut }) => cut)).toEqual([
      false,
      true,
    ]);
  });

  it('closes a block of code it cut, and one the file never closed', () => {
    const code = `Do this:\n\n  ~~~~sh\n${lines(50, 'cmd')}`;
    const files = [
      { file: 'CLAUDE.md', text: code },
      { file: 'AGENTS.md', text: 'Say please.\n```\nopen' },
    ];
    const cut = buildContext(files, { budgetTokens: 120 }).text;
    expect(part(cut, 'CLAUDE.md')).toMatch(/cmd line \d+\n {2}~~~~\n\n\[Cut here/);
    expect(part(cut, 'AGENTS.md').trimEnd()).toMatch(/open\n```$/);
  });

  it('does not end on a heading or on an opened block', () => {
    const text = `first\n\n## Next\n\n\`\`\`\n${'x'.repeat(400)}\n\`\`\``;
    const context = buildContext([{ file: 'CLAUDE.md', text }], { budgetTokens: 60 });
    expect(context.text).toBe(
      '# Project context: CLAUDE.md (whole)\n\nfirst\n\n[Cut here to fit: the rest is in CLAUDE.md]',
    );
  });

  it.each([0, -5, 3])('leaves everything out when %i tokens are all there is', budgetTokens => {
    expect(buildContext([{ file: 'CLAUDE.md', text: 'x' }], { budgetTokens })).toEqual({
      text: '',
      tokens: 0,
      budgetTokens,
      parts: [],
      leftOut: [{ file: 'CLAUDE.md', reason: `it does not fit into the budget of ${budgetTokens} tokens` }],
    });
  });

  it('leaves out what cannot be read or says nothing, with the reason', () => {
    const { parts, leftOut } = buildContext([
      { file: 'PRD.md', fault: 'is not UTF-8 text' },
      { file: 'CLAUDE.md', text: ' \n' },
      { file: 'ARCHITECTURE.md', text: '<!-- to be written -->' },
    ]);
    expect(parts).toEqual([]);
    expect(leftOut).toEqual([
      { file: 'PRD.md', reason: 'it is not UTF-8 text' },
      { file: 'CLAUDE.md', reason: 'it is empty' },
      { file: 'ARCHITECTURE.md', reason: 'it is empty' },
    ]);
  });
});

const word = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('żółć', '日本語', '🎉👩‍🚀'),
);
const line = fc.oneof(
  word,
  fc.tuple(fc.integer({ min: 1, max: 6 }), word).map(([level, title]) => `${'#'.repeat(level)} ${title}`),
  fc.constantFrom(
    '',
    '```',
    '```ts',
    '~~~',
    '  ````',
    '- [ ] todo',
    '---',
    '====',
    '<!--',
    '-->',
    'Goals\n---',
  ),
);
const file = fc.record({
  file: fc.constantFrom('PRD.md', 'PLAN.md', 'CLAUDE.md', 'AGENTS.md', 'ARCHITECTURE.md', 'own.md'),
  text: fc.array(line, { maxLength: 60 }).map(each => each.join('\n')),
});
const files: fc.Arbitrary<FoundFile[]> = fc.uniqueArray(file, { selector: each => each.file, maxLength: 6 });
const budget = fc.integer({ min: 0, max: 700 });

describe('every context', () => {
  it('keeps to its budget and accounts for every file once', () => {
    fc.assert(
      fc.property(files, budget, (found, budgetTokens) => {
        const context = buildContext(found, { budgetTokens });
        expect(context.tokens).toBe(tokensOf(context.text));
        expect(context.tokens).toBeLessThanOrEqual(budgetTokens);
        expect([...context.parts, ...context.leftOut].map(each => each.file).sort()).toEqual(
          found.map(each => each.file).sort(),
        );
      }),
    );
  });

  it('is the same for the same files', () => {
    fc.assert(
      fc.property(files, budget, (found, budgetTokens) => {
        expect(buildContext(found, { budgetTokens })).toEqual(
          buildContext(structuredClone(found), { budgetTokens }),
        );
      }),
    );
  });

  it('holds only whole lines of the files, and of characters only whole ones', () => {
    fc.assert(
      fc.property(files, budget, (found, budgetTokens) => {
        const { text } = buildContext(found, { budgetTokens });
        const known = new Set(
          found.flatMap(each => ('text' in each ? each.text.split(/\r\n|\n|\r/) : [])).map(bare),
        );
        const ours =
          /^(# Project context: .*|\[Cut here.*|…|Also in the file: .*|\s*(`{3,}(yaml)?|~{3,})|-->)$/s;
        known.add('');
        expect(text.isWellFormed()).toBe(true);
        expect(text.split('\n').filter(each => !ours.test(each) && !known.has(bare(each)))).toEqual([]);
      }),
    );
  });

  it('leaves no block of code open at the end of a part', () => {
    fc.assert(
      fc.property(files, budget, (found, budgetTokens) => {
        const { text, parts } = buildContext(found, { budgetTokens });
        expect(headingsOutsideCode(text)).toEqual(
          parts.map(({ file: name, how }) => `# Project context: ${name} (${how})`),
        );
      }),
    );
  });
});

/** A line without what makes it a heading of some level. */
const bare = (text: string) => text.trim().replace(/^#+/, '').replace(/\s#+$/, '').replace(/^#+$/, '').trim();

/** Every heading of the first level that a reader of Markdown sees. */
function headingsOutsideCode(text: string): string[] {
  const seen: string[] = [];
  let fence = '';
  for (const each of text.split('\n')) {
    const [, mark, rest] = /^\s*(`{3,}|~{3,})(.*)$/.exec(each) ?? [];
    if (fence === '' && /^ {0,3}<!--/.test(each)) fence = each.includes('-->') ? '' : '-->';
    else if (fence === '-->') fence = each.includes('-->') ? '' : fence;
    else if (fence === '' && mark !== undefined && !(mark[0] === '`' && rest!.includes('`'))) fence = mark;
    else if (fence !== '' && mark?.startsWith(fence) && rest!.trim() === '') fence = '';
    else if (fence === '' && /^# /.test(each)) seen.push(each);
  }
  return fence === '' ? seen : [...seen, 'left open'];
}
