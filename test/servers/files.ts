import { readdirSync, readFileSync } from 'node:fs';
import { errorOf, type Json, type Message, resultOf, text, welcome } from './message.ts';
import { readLines, sendLine } from './stdio-lines.ts';

/** Reads files of the folder it is started in. */
const TOOLS = [
  { name: 'list_directory', description: 'What is in a folder.' },
  { name: 'read_text_file', description: 'What is in a file.' },
].map(tool => ({
  ...tool,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}));

readLines(({ id, method, params = {} }) => {
  if (method === 'initialize') sendLine(resultOf(id, welcome('files', params)));
  else if (method === 'tools/list') sendLine(resultOf(id, { tools: TOOLS }));
  else if (method === 'tools/call') sendLine(resultOf(id, called(params)));
  else if (isRequest({ id, method })) sendLine(errorOf(id, -32601, 'Method not found'));
});

function called({ name, arguments: given }: Json) {
  const { path } = given as { path: string };
  const found = name === 'list_directory' ? readdirSync(path).join('\n') : readFileSync(path, 'utf8');
  return { content: [text(found)] };
}

function isRequest({ id, method }: Message): boolean {
  return id !== undefined && method !== undefined;
}
