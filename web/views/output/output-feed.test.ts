import { describe, expect, test } from 'vitest';
import { OutputFeed, type OutputSource } from './output-feed.ts';
import { OutputWindow } from './output-window.ts';

const text = (window: OutputWindow): string[] =>
  window.pages.flatMap(({ lines }) => lines.map(line => line.map(span => span.text).join('')));

/** The hub's side of it, over a text: pages as `read_output` cuts them. */
class FakeOutput implements OutputSource {
  reads = 0;
  knowsLines = true;
  bytes: Buffer;

  constructor(content: string) {
    this.bytes = Buffer.from(content);
  }

  write(more: string): number {
    this.bytes = Buffer.concat([this.bytes, Buffer.from(more)]);
    return this.bytes.length;
  }

  async read(offset: number, limit: number, wholeLines: boolean) {
    this.reads++;
    const size = this.bytes.length;
    let start = offset < 0 ? Math.max(0, size + offset) : Math.min(offset, size);
    let end = Math.min(size, start + limit);
    if (wholeLines) {
      const first = start > 0 && this.bytes[start - 1] !== 10 ? this.bytes.indexOf(10, start) + 1 : start;
      if (first > start && first < end) start = first;
      const last = end === size ? end : this.bytes.lastIndexOf(10, end - 1) + 1;
      if (last > start) end = last;
    }
    const text = this.bytes.toString('utf8', start, end);
    return {
      text,
      offset: start,
      nextOffset: end,
      size,
      firstLine: this.knowsLines ? this.#line(start) : null,
    };
  }

  async lineAt(offset: number) {
    return { line: this.#line(offset), isComplete: true };
  }

  async placeOf(line: number) {
    let offset = 0;
    for (let left = line - 1; left > 0; left--) offset = this.bytes.indexOf(10, offset) + 1;
    return { line, offset, isComplete: true };
  }

  #line(offset: number): number {
    return this.bytes.subarray(0, offset).filter(byte => byte === 10).length + 1;
  }
}

const numbered = (count: number, from = 1): string =>
  Array.from({ length: count }, (_, at) => `line ${String(at + from).padStart(6, '0')} é\n`).join('');

const opened = (source: FakeOutput, most?: number) =>
  new OutputFeed(source, { isReadable: false, onChange: () => {}, most });

/** Every line says its number: so must the window. */
function expectTrueNumbers({ window }: OutputFeed): void {
  for (const page of window.pages) {
    const first = window.lineOf(page);
    for (const [at, line] of page.lines.entries())
      expect(line.map(span => span.text).join('')).toContain(String(first! + at).padStart(6, '0'));
  }
}

describe('a window over an output', () => {
  test('opens at the end and knows its lines', async () => {
    const feed = opened(new FakeOutput(numbered(50_000)));
    await feed.openEnd();
    expect(text(feed.window).at(-1)).toBe('line 050000 é');
    expect(feed.window.end).toBe(feed.size);
    expectTrueNumbers(feed);
  });

  test('goes back to the beginning and on to the end, with every line once and few held', async () => {
    const source = new FakeOutput(numbered(20_000));
    const feed = opened(source);
    await feed.openEnd();
    feed.unfollow();
    for (let round = 0; round < 50 && feed.window.start > 0; round++) {
      await feed.older();
      expect(feed.window.count).toBeLessThanOrEqual(5_000);
      expectTrueNumbers(feed);
    }
    expect(text(feed.window)[0]).toBe('line 000001 é');
    const seen = new Set(text(feed.window));
    for (let round = 0; round < 50 && feed.window.end < feed.size; round++) {
      await feed.newer();
      expectTrueNumbers(feed);
      for (const line of text(feed.window)) seen.add(line);
    }
    expect(seen.size).toBe(20_000);
  });

  test('grows while it is followed, through lines that come in pieces', async () => {
    const source = new FakeOutput('line 000001 ');
    const feed = opened(source);
    await feed.openEnd();
    for (const piece of [
      'and more',
      '\nline 000002\nline 0000',
      '03',
      '\n',
      'line 000004\n',
      'line 000005',
    ]) {
      feed.grew(source.write(piece));
      await feed.newer();
    }
    expect(text(feed.window)).toEqual([
      'line 000001 and more',
      ...['line 000002', 'line 000003', 'line 000004', 'line 000005'],
    ]);
    expectTrueNumbers(feed);
  });

  test('stays bounded while an output floods it', async () => {
    const source = new FakeOutput('');
    const feed = opened(source, 500);
    await feed.openEnd();
    for (let round = 0; round < 20; round++) {
      feed.grew(source.write(numbered(300, round * 300 + 1)));
      await feed.newer();
      expect(feed.window.count).toBeLessThanOrEqual(500);
    }
    expect(text(feed.window).at(-1)).toBe('line 006000 é');
    expectTrueNumbers(feed);
  });

  test('does not move while somebody reads, and counts what came', async () => {
    const source = new FakeOutput(numbered(10));
    const feed = opened(source, 100);
    await feed.openEnd();
    feed.unfollow();
    feed.grew(source.write(numbered(5, 11)));
    await feed.older();
    expect([feed.fresh, feed.hasMore]).toEqual([5, false]);
    feed.grew(source.write(numbered(200, 16)));
    await feed.older();
    feed.grew(source.write(numbered(5, 216)));
    await feed.older();
    expect(text(feed.window)[0]).toBe('line 000001 é');
    await feed.follow();
    expect(feed.fresh).toBe(0);
    expect(text(feed.window).at(-1)).toBe('line 000220 é');
    expectTrueNumbers(feed);
  });

  test('skips what nobody can read when far behind', async () => {
    const source = new FakeOutput('first\n');
    const feed = opened(source);
    await feed.openEnd();
    const before = source.reads;
    feed.grew(source.write(numbered(300_000)));
    await feed.newer();
    expect(source.reads - before).toBeLessThan(6);
    expect(text(feed.window).at(-1)).toBe('line 300000 é');
  });

  test('opens at a line, with some before it', async () => {
    const feed = opened(new FakeOutput(numbered(60_000)));
    expect(await feed.openLine(30_000)).toBe(30_000);
    expect(text(feed.window)).toContain('line 030000 é');
    expect(text(feed.window)).toContain('line 029990 é');
    expectTrueNumbers(feed);
  });

  test('finds its numbers later where they are not known at once', async () => {
    const source = new FakeOutput(numbered(50_000));
    source.knowsLines = false;
    const told: string[] = [];
    const feed = new OutputFeed(source, { isReadable: false, onChange: change => told.push(change) });
    await feed.openEnd();
    await feed.older();
    await feed.older();
    expect(told).toContain('numbers');
    expectTrueNumbers(feed);
  });

  test('is bounded for lines that are empty too', async () => {
    const source = new FakeOutput('\n'.repeat(200_000));
    const feed = opened(source);
    await feed.openEnd();
    feed.unfollow();
    for (let round = 0; round < 10; round++) {
      await feed.older();
      expect(feed.window.count).toBeLessThanOrEqual(5_000);
      expect(feed.window.firstLine).toBe(feed.window.start + 1);
    }
  });

  test('has a line of a megabyte as one line', async () => {
    const feed = opened(new FakeOutput(`start\n${'x'.repeat(1_000_000)}\nend\n`));
    await feed.openAt(0);
    for (let round = 0; round < 30 && feed.window.end < feed.size; round++) await feed.newer();
    expect(text(feed.window).map(line => line.length)).toEqual([5, 1_000_000, 3]);
    expect(feed.window.lineOf(feed.window.pages.at(-1)!)).toBe(3);
  });
});

test('held output is bounded in bytes too, and dropped at the far end', () => {
  const window = new OutputWindow(5_000, 1_000);
  for (let at = 0; at < 20; at++)
    window.append({
      text: `${'x'.repeat(199)}\n`,
      ...{ offset: at * 200, nextOffset: (at + 1) * 200, firstLine: at + 1 },
    });
  expect(window.isFull).toBe(true);
  window.trim('start');
  expect([window.start, window.end, window.firstLine]).toEqual([3_000, 4_000, 16]);
  window.trim('end');
  expect(window.end).toBe(4_000);
});

test('a line without an end does not grow for ever', () => {
  const MOST = 6 * 1024 * 1024;
  const window = new OutputWindow(5_000, MOST);
  const piece = 256 * 1024;
  for (let at = 0; at < 100; at++) {
    window.append({
      text: 'x'.repeat(piece),
      ...{ offset: at * piece, nextOffset: (at + 1) * piece, firstLine: 1 },
    });
    window.trim('start');
  }
  expect(window.end).toBe(100 * piece);
  expect(text(window).join('').length).toBe(window.end - window.start);
  expect(window.end - window.start).toBeLessThanOrEqual(MOST);
  // All of it is still the first line.
  expect(window.pages.map(page => window.lineOf(page))).toEqual(window.pages.map(() => 1));
});
