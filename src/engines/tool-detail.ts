import { type Fields, text } from './json-line.ts';

/** What says most about a tool call, whoever named its arguments. */
const TELLING = ['command', 'cmd', 'file_path', 'filePath', 'path', 'pattern', 'query', 'url', 'description'];

/** What a tool call is about, in its own words. */
export function toolDetail(input: Fields): string {
  const telling = TELLING.map(name => text(input[name])).find(Boolean);
  return telling ?? (Object.keys(input).length > 0 ? JSON.stringify(input) : '');
}
