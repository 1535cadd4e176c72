import { describe, expect, it } from 'vitest';
import { type Decisions, readDecisions } from './decisions.ts';
import { randomOf, weave } from './testing/random-text.ts';

const inMain = (text: string): Decisions => readDecisions({ file: 'decisions.md', text }, []);
const titles = ({ decisions }: Decisions) => decisions.map(({ title }) => title);

const REAL = `# Decisions

> What all agents respect. Kept by the scribe.

---

## Foundations (from the first version)

### Strict types, no exceptions
**By:** Control (was: Edith)
**What:** \`strict: true\`, no way around it.
**Why:** Types are promises.

### Hooks rather than prompts
**By**: Retro
**What**: Guards are code.

They run every time.

**Impact:** everybody
**Why**: A prompt can be ignored.
---

### Root causes

Three of them.

#### 1. The wording

By: nobody in particular, this is a sentence in a sub-section.

---

# Decision: Which requests to merge

**Date:** 2026-03-25  
**Reviewer:** Fido

## Problem

Too many.

## Decision

Merge the first.

### What to look at

Not a decision of its own.

---

### 2026-03-26: A guard against deletions
**By:** Booster (CI/CD)
**What:** Two checks.
**Why:** It happened.

### 2026-04-13T00:08:42Z: Extract first
By: Brady (via a client)
What: the tests move before the code goes
Why: no gaps
`;

describe('decisions.md', () => {
  const { decisions, notes } = inMain(REAL);
  const named = (title: string) => decisions.find(decision => decision.title === title);

  it('gives every entry, the newest first and those without a date after them as they stand', {
    tags: ['B11'],
  }, () => {
    expect(titles({ decisions, notes })).toEqual([
      'Extract first',
      'A guard against deletions',
      'Which requests to merge',
      'Strict types, no exceptions',
      'Hooks rather than prompts',
      'Root causes',
    ]);
    expect(notes).toEqual([]);
  });

  it('knows who, what and why, in bold and in plain lines', () => {
    expect(named('Strict types, no exceptions')).toMatchObject({
      by: 'Control (was: Edith)',
      what: '`strict: true`, no way around it.',
      why: 'Types are promises.',
      date: null,
      file: 'decisions.md',
      merged: true,
    });
    expect(named('Extract first')).toMatchObject({
      by: 'Brady (via a client)',
      what: 'the tests move before the code goes',
      why: 'no gaps',
      date: '2026-04-13T00:08:42Z',
    });
  });

  it('takes several paragraphs for one part, up to the next name in bold', () => {
    expect(named('Hooks rather than prompts')).toMatchObject({
      what: 'Guards are code.\n\nThey run every time.',
      why: 'A prompt can be ignored.',
    });
  });

  it('keeps what is below a decision with it', () => {
    expect(named('Root causes')!.text).toContain('#### 1. The wording');
    expect(named('Which requests to merge')).toMatchObject({ date: '2026-03-25', what: 'Merge the first.' });
    expect(named('Which requests to merge')!.text).toContain('Not a decision of its own.');
  });

  it('has the same id for an entry wherever it stands, and another for each of two alike', () => {
    const one = '### 2026-01-01: Alike\nBy: a\n';
    const [first] = inMain(one).decisions;
    const later = inMain(`# T\n\n### Other\n\n${one}\n${one}`).decisions;
    expect(later.map(({ id }) => id).slice(0, 2)).toEqual([first!.id, `${first!.id}-2`]);
    const [waiting] = readDecisions(null, [{ file: 'decisions/inbox/a.md', text: one }]).decisions;
    expect(waiting!.id).toBe(first!.id);
  });

  it('takes a rule under a line for a rule, not the line for a heading', () => {
    const { decisions } = inMain('### One\nA plain reason.\n---\n### Two\nWhy: b\n---\n');
    expect(decisions.map(({ title, text, why }) => [title, text, why])).toEqual([
      ['One', 'A plain reason.', null],
      ['Two', 'Why: b', 'b'],
    ]);
  });

  it('does not take code, comments or the head of the file for entries', () => {
    const text = '---\n### no: 1\n---\n# T\n```\n### no\n```\n<!--\n### no\n-->\n### yes\ntext\n';
    expect(titles(inMain(text))).toEqual(['yes']);
  });

  it('says what to do where there is a list and no entry, and nothing where there is nothing yet', () => {
    expect(inMain('# Decisions\n\n- tabs\n- spaces\n').notes).toEqual([expect.stringContaining('###')]);
    expect(inMain('# Decisions\n\n## Active\n\nNone yet.\n')).toEqual({ decisions: [], notes: [] });
    expect(readDecisions(null, [])).toEqual({ decisions: [], notes: [] });
  });

  it('has no date that the calendar does not have', () => {
    expect(inMain('### 2026-13-41: x\nWhat: y').decisions[0]).toMatchObject({ date: null });
  });
});

describe('a file of the inbox', () => {
  const inbox = (text: string, name = 'eve-2026-02-03-x.md') =>
    readDecisions(null, [{ file: `decisions/inbox/${name}`, text }]);

  it('is one decision, whatever the level of its heading, with parts as sections', () => {
    const text =
      '# Decision: Extract it\n\n**By:** Eve\n**PR:** #7\n\n## What\n\nMove.\n\n## Pattern\n\n1. a\n\n## Why\n\n- b\n- c\n';
    expect(inbox(text).decisions).toMatchObject([
      { title: 'Extract it', by: 'Eve', what: 'Move.', why: '- b\n- c', date: '2026-02-03', merged: false },
    ]);
  });

  it('may hold several, each with its author', () => {
    const text = '### One\n**By:** a\n\n### Two\n**By:** b\n';
    expect(inbox(text).decisions.map(({ title, by }) => [title, by])).toEqual([
      ['One', 'a'],
      ['Two', 'b'],
    ]);
  });

  it('without a heading has its first line as title; an empty one is only noted', () => {
    expect(titles(inbox('Just do it.\nAt once.'))).toEqual(['Just do it.']);
    expect(inbox(' \n')).toEqual({ decisions: [], notes: ['decisions/inbox/eve-2026-02-03-x.md is empty.'] });
  });
});

describe('whatever the text', () => {
  it('nothing is thrown', () => {
    const random = randomOf(1);
    for (let round = 0; round < 400; round++) {
      const text = weave(random);
      expect(() => readDecisions({ file: 'decisions.md', text }, [{ file: 'i.md', text }])).not.toThrow();
    }
  });

  it('no entry is lost', { tags: ['B11'] }, () => {
    const random = randomOf(2);
    for (let round = 0; round < 200; round++) {
      const wanted = Array.from({ length: 1 + random(12) }, (_, at) => `Entry ${at} of ${round}`);
      const text = wanted.map(title => entry(title, random)).join('');
      expect(titles(inMain(`# Decisions\n\n${text}`)).sort(), text).toEqual([...wanted].sort());
    }
  });
});

function entry(title: string, random: (below: number) => number): string {
  const pick = (...from: string[]) => from[random(from.length)]!;
  return [
    pick('', '## A group\n\n', '---\n\n', 'Some text.\n\n'),
    pick('### ', '###  ', '   ### ', `### 2026-0${1 + random(9)}-11: `, '### [2026-05-05] '),
    title + pick('', ' ###', '  '),
    pick('\n', '\r\n', '\n\n'),
    pick('', '**By:** x\n', 'By: y\r\n', '- **Author:** z\n'),
    pick(
      '**What:** a\n',
      'free words\n',
      '```\n### no\n```\n',
      '#### Detail\n\nmore\n',
      '| a | b |\n|---|---|\n',
      '<!-- x -->\n',
    ),
    pick('', '**Why:** b\n', 'Why: c\n---\n', '\n'),
    '\n',
  ].join('');
}
