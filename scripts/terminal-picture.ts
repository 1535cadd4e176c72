/** Records `squad demo` on a real terminal as docs/images/demo.svg, for the README: `npm run build && node scripts/terminal-picture.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Screen } from '../test/support/screen.ts';
import { TestSquad } from '../test/support/squad.ts';

const FILE = join(import.meta.dirname, '..', 'docs', 'images', 'demo.svg');
const COLUMNS = 102;
const CELL = { width: 8.4, height: 19 };
const PADDING = 16;
const ESCAPE = '\u001b';

/** Colours of the picture by the terminal's colour codes. */
const COLORS: Record<string, string> = { 31: '#ff8a80', 32: '#8fd98f', 33: '#e6c86e' };
const BACKGROUND = '#161b22';
const TEXT = '#e6edf3';
const DIM = '#9aa4b2';

/** The style continues on the next line, because tmux does not repeat it. */
const PLAIN = { color: null as string | null, bold: false, dim: false };
const style = { ...PLAIN };

await using squad = new TestSquad();
const screen = Screen.open(squad, ['demo'], { columns: COLUMNS, rows: 60 });
try {
  await screen.ended();
  const lines = screen.lines({ colored: true }).filter(line => !line.includes('[exit '));
  const shown = lines
    .slice(
      0,
      lines.findIndex(line => line.includes('What they left in the repository')),
    )
    .join('\n');
  writeFileSync(
    FILE,
    picture(`${ESCAPE}[1m$${ESCAPE}[0m npx -y squad-mcp demo\n${shown.trimEnd()}`.split('\n')),
  );
  console.log(`wrote ${FILE}`);
} finally {
  screen.close();
}

function picture(lines: string[]): string {
  const width = COLUMNS * CELL.width + 2 * PADDING;
  const height = lines.length * CELL.height + 2 * PADDING;
  const rows = lines.map((line, at) => row(line, PADDING + (at + 0.75) * CELL.height));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="squad demo: four agents work in parallel, one of them finds a failing test" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    ...rows.filter(Boolean),
    '</svg>\n',
  ].join('\n');
}

/**
 * A line of the picture, with one `text` for each piece in one style. Each piece has a fixed width, so that columns
 * stay aligned in any font.
 */
function row(line: string, y: number): string {
  let column = 0;
  return line
    .split(new RegExp(`(${ESCAPE}\\[[\\d;]*m)`))
    .map(piece => {
      const codes = piece.startsWith(ESCAPE) ? piece.slice(2, -1) : undefined;
      if (codes !== undefined) {
        restyle(codes);
        return '';
      }
      const x = PADDING + (column + piece.length - piece.trimStart().length) * CELL.width;
      column += piece.length;
      const text = piece.trim();
      if (!text) return '';
      const fill = style.color ?? (style.dim ? DIM : TEXT);
      const weight = style.bold ? ' font-weight="bold"' : '';
      const length = (text.length * CELL.width).toFixed(1);
      return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${fill}"${weight} textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escaped(text)}</text>`;
    })
    .join('');
}

function restyle(codes: string): void {
  const [, extended] = /^38;5;(\d+)$/.exec(codes) ?? [];
  if (extended) {
    style.color = colorOf(Number(extended));
    return;
  }
  for (const code of codes.split(';')) {
    if (code === '' || code === '0') Object.assign(style, PLAIN);
    else if (code === '1') style.bold = true;
    else if (code === '2') style.dim = true;
    else if (code === '22') Object.assign(style, { bold: false, dim: false });
    else if (code === '39') style.color = null;
    else if (code === '49')
      continue; // the background is not drawn
    else if (COLORS[code]) style.color = COLORS[code];
    else throw new Error(`Unknown style ${codes}`);
  }
}

/** A colour from the 6×6×6 cube of a terminal with 256 colours. */
function colorOf(number: number): string {
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  const at = number - 16;
  return `rgb(${level(Math.floor(at / 36))}, ${level(Math.floor(at / 6) % 6)}, ${level(at % 6)})`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
