// A server with many tools and long schemas: `many-tools-server.cjs TOOLS BYTES`. It lists them, page by page as no frame should be too long,
// and can do nothing else.
'use strict';
const [count, bytes] = process.argv.slice(2).map(Number);
const PAGE = 500;

const tools = Array.from({ length: count }, (_, at) => ({
  name: `tool_${at}`,
  description: 'One of many.',
  inputSchema: schemaOf(bytes),
}));

function schemaOf(size) {
  const properties = {};
  for (let i = 0, used = 0; used < size; i++) {
    const property = {
      type: 'string',
      description: `Says how field ${i} is to be understood, in a few words.`,
    };
    properties[`field_${i}`] = property;
    used += JSON.stringify(property).length + 12;
  }
  return { type: 'object', properties };
}

let text = '';
process.stdin.setEncoding('utf8').on('data', chunk => {
  text += chunk;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
    answer(JSON.parse(text.slice(0, at)));
    text = text.slice(at + 1);
  }
});
process.stdin.on('end', () => process.exit(0));

function page(from) {
  const next = from + PAGE;
  return { tools: tools.slice(from, next), ...(next < tools.length && { nextCursor: String(next) }) };
}

function answer({ id, method, params }) {
  if (id === undefined) return;
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'many-tools', version: '1' },
    }),
    'tools/list': () => page(Number(params?.cursor ?? 0)),
    ping: () => ({}),
  };
  const result = results[method]?.();
  const reply = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`);
}
