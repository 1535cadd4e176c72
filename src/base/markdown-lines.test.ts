import { describe, expect, it } from 'vitest';
import { readMarkdown } from './markdown.ts';

const kinds = (text: string) => readMarkdown(text).map(line => `${line.kind}: ${line.text}`);

describe('readMarkdown', () => {
  it('knows headings, however they are written', () => {
    expect(
      readMarkdown('# a #\n   ###### b\n#c\n    # d\n#\n####### e\nf\n===\ng\n---').map(({ level, text }) => [
        level,
        text,
      ]),
    ).toEqual([
      ...[
        [1, '# a'],
        [6, '###### b'],
        [0, '#c'],
        [0, '    # d'],
        [1, '#'],
        [0, '####### e'],
      ],
      ...[
        [1, '# f'],
        [2, '## g'],
      ],
    ]);
  });

  it('does not take a rule for an underline', () => {
    expect(
      kinds('- a\n---\n\n---\n> b\n---\n| c |\n---\n1. d\n---').filter(kind => kind.startsWith('heading')),
    ).toEqual([]);
  });

  it('knows where code begins and ends', () => {
    expect(kinds('```js `no`\n````md\n```\n# x\n````\n~~~\n```\n~~~~\ny')).toEqual([
      ...['text: ```js `no`', 'opens code: ````md', 'code: ```', 'code: # x', 'code: ````'],
      ...['opens code: ~~~', 'code: ```', 'code: ~~~~', 'text: y'],
    ]);
  });

  it('says how to close what is open, and closes it at the end', () => {
    expect(readMarkdown('- a\n  ```\n  b').map(({ text, closing }) => [text, closing])).toEqual([
      ...[
        ['- a', null],
        ['  ```', '  ```'],
        ['  b', '  ```'],
        ['  ```', null],
      ],
    ]);
    expect(kinds('<!-- a\n```\n# b').slice(1)).toEqual(['comment: ```', 'comment: # b', 'comment: -->']);
    expect(kinds('<!-- a -->\n# b')).toEqual(['comment: <!-- a -->', 'heading: # b']);
  });

  it('shows the head of a file as code, and takes a rule for no head', () => {
    expect(kinds('---\ntitle: x\n---\ny')).toEqual([
      'head: ```yaml',
      'head: title: x',
      'head: ```',
      'text: y',
    ]);
    expect(kinds('---\nx')).toEqual(['text: ---', 'text: x']);
  });
});
