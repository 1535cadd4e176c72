import { describe, expect, it } from 'vitest';
import { countLines, firstLines, fromHeading, lastLines } from './team-markdown.ts';

const ENDS = { 'a newline': '\n', 'a carriage return': '\r', both: '\r\n' };

describe.each(Object.entries(ENDS))('lines that end with %s', (_, end) => {
  const text = ['one', 'two', '', 'four'].join(end);

  it('are counted, a last one without an end too', () => {
    expect([text, text + end, '', end].map(countLines)).toEqual([4, 5, 1, 2]);
  });

  it('are taken from the beginning, whole', () => {
    expect(firstLines(text, 2)).toEqual({ text: `one${end}two${end}`, isCut: true });
    for (const most of [4, 5, 100]) expect(firstLines(text, most)).toEqual({ text, isCut: false });
    expect(firstLines(text + end, 4)).toEqual({ text: text + end, isCut: false });
  });

  it('are taken from the end, whole', () => {
    expect(lastLines(text, 2)).toEqual({ text: `${end}four`, isCut: true });
    expect(lastLines(text + end, 3)).toEqual({ text: `two${end}${end}four${end}`, isCut: true });
    for (const most of [4, 5, 100]) expect(lastLines(text, most)).toEqual({ text, isCut: false });
    expect(lastLines('', 1)).toEqual({ text: '', isCut: false });
  });
});

describe('output that was cut off before', () => {
  it('continues at the next heading that can begin an entry', () => {
    const text = 'ord\n#### Part\n\n#no heading\n### Next\nx\n';
    expect(fromHeading({ text, isCut: true }).text).toBe('### Next\nx\n');
    expect(fromHeading({ text, isCut: false }).text).toBe(text);
  });

  it('continues at the next line where there is no heading', () => {
    expect(fromHeading({ text: 'ord\n- item\n', isCut: true }).text).toBe('- item\n');
    expect(fromHeading({ text: 'one long line', isCut: true }).text).toBe('');
  });
});
