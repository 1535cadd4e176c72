import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { savedPage } from './saved-page.ts';

const page = { script: 'start()', css: 'p{color:red}' };
const dataOf = (html: string) => JSON.parse(/id="saved-run">(.*)<\/script>/.exec(html)![1]!);
const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

test('data comes back as it was, and no character of it ends anything', () => {
  const data = { title: 'x', text: '</script><!--<script>\u2028\u2029 \u001b[31m "quoted" & \\u003c' };
  const html = savedPage(data, page);
  expect(dataOf(html)).toEqual(data);
  expect(html.match(/<script/g)).toHaveLength(2);
  expect(html.match(/<\/script/g)).toHaveLength(2);
  expect(html).not.toContain('<!--');
  expect(html).not.toMatch(/[\u2028\u2029]/);
});

test('its policy lets its own script and style be, and nothing else', () => {
  const [, policy] = /Content-Security-Policy" content="([^"]*)"/.exec(savedPage({ title: 'x' }, page))!;
  expect(policy!.split('; ')).toEqual([
    "default-src 'none'",
    `script-src ${hash('start()')}`,
    `style-src ${hash('p{color:red}')}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ]);
});

test('the title is one short line of text', () => {
  const title = (given: string) => /<title>(.*)<\/title>/s.exec(savedPage({ title: given }, page))![1];
  expect(title('Fix </title><b> & go\nnow')).toBe('Fix &lt;/title&gt;&lt;b&gt; &amp; go · Squad');
  expect(title('a\u001b[31mb')).toBe('a[31mb · Squad');
  expect(title('x'.repeat(500))).toHaveLength(80 + ' · Squad'.length);
});
