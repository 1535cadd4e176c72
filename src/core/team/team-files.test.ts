import { describe, expect, it } from 'vitest';
import { addToLog, MAX_LOG_BYTES, withState } from './state-files.ts';

const replaced = (change: ReturnType<typeof addToLog>) => ('replace' in change ? change.replace : null);
const fresh = replaced(addToLog(null, ['- one']))!;
const MARK = fresh.split('\n').find(line => line.startsWith('<!--'))!;

describe('the log', () => {
  it('begins with a title and the mark', () => {
    expect(fresh).toMatch(/^# Inter-agent log\n\n.*\n\n<!-- squad: .* -->\n- one\n$/);
    expect(replaced(addToLog(' \n', ['- one']))).toBe(fresh);
  });

  it('grows at its end', () => {
    expect(addToLog(fresh, ['- two', '- three'])).toEqual({ append: '- two\n- three\n' });
  });

  it('ends a line that was only half written', () => {
    expect(addToLog(`${fresh}- tw`, ['- three'])).toEqual({ append: '\n- three\n' });
  });

  it('keeps what a person wrote, above the mark and in a file without one', () => {
    expect(addToLog(`Mine.\r\n${MARK}\r\n- one\r\n`, ['- two'])).toEqual({ append: '- two\n' });
    expect(replaced(addToLog('Mine.', ['- one']))).toBe(`Mine.\n\n${MARK}\n- one\n`);
    expect(replaced(addToLog(`Mine.\n${MARK}`, ['- one']))).toBe(`Mine.\n${MARK}\n- one\n`);
  });

  it('drops the oldest entries when it gets too long, and says so', () => {
    const notes = 'Notes.\n'.repeat(1_000);
    let file = `${notes}${MARK}\n`;
    let rewritten = 0;
    for (let at = 0; at < 500; at++) {
      const change = addToLog(file, [`- entry ${at} ${'é'.repeat(1000)}`]);
      if ('replace' in change) rewritten++;
      file = 'replace' in change ? change.replace : file + change.append;
      expect(file.length).toBeLessThanOrEqual(notes.length + MARK.length + 1 + MAX_LOG_BYTES);
    }
    expect(file.startsWith(`${notes}${MARK}\n- (older entries were dropped)\n- entry `)).toBe(true);
    expect(file.match(/older entries/g)).toHaveLength(1);
    const entries = [...file.matchAll(/^- entry (\d+) é{1000}$/gm)].map(([, number]) => Number(number));
    expect(entries.length).toBeGreaterThan(150);
    expect(entries).toEqual(entries.map((_, place) => 500 - entries.length + place));
    expect(rewritten).toBeLessThan(20);
  });
});

describe('the state', () => {
  it('replaces only what is below the mark', () => {
    const first = withState(null, 'A');
    expect(first).toMatch(/^# Agents\n\n.*\n\n<!-- squad: .* -->\n\nA\n$/);
    const edited = first.replace('# Agents', '# Agents\n\nMy note.');
    expect(withState(edited, 'B')).toBe(edited.replace('\nA\n', '\nB\n'));
    expect(withState('All mine.\n', 'B')).toBe(`All mine.\n\n${MARK}\n\nB\n`);
  });
});
