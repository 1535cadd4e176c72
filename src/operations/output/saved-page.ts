import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Page {
  script: string;
  css: string;
}

/** File name of a saved run. */
export const savedName = (run: string): string => `squad-${run}.html`;

/** A saved run as one HTML file. `folder` is where the build put `saved.js` and `saved.css`. */
export async function composeSavedPage(data: { title: string }, folder: string): Promise<string> {
  const [script, css] = await Promise.all(
    ['saved.js', 'saved.css'].map(name => readFile(join(folder, name), 'utf8')),
  );
  return savedPage(data, { script: script!, css: css! });
}

/**
 * One HTML file that contains everything. Its content security policy allows only this script, and no network requests;
 * the run is embedded as data, and none of its characters can end that data.
 */
export function savedPage(data: { title: string }, { script, css }: Page): string {
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(css)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${asText(titleOf(data.title))}</title>
<style>${css}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="saved-run">${asData(data)}</script>
<script>${script}</script>
</body>
</html>
`;
}

const hashOf = (text: string) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** JSON without characters that could end the script element or a line in it. */
const asData = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<\u2028\u2029]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const MAX_TITLE_LENGTH = 80;

function titleOf(title: string): string {
  const line = title
    .trim()
    .split('\n', 1)[0]!
    .replace(/\p{Cc}/gu, '');
  return `${line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH - 1).toWellFormed()}…` : line} · Squad`;
}

const asText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
