/** The smallest MCP server on stdio: one tool, `ping`, that answers with what it was given. */
import { createInterface } from 'node:readline';

const TOOL = {
  name: 'ping',
  description: 'Answers with what it was given',
  inputSchema: { type: 'object', properties: { value: { type: 'string' } }, required: ['value'] },
};

interface Request {
  id?: number | string;
  method: string;
  params?: { protocolVersion?: string; arguments?: { value?: string } };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request;
  if (request.id !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...answer(request) }));
}

function answer({ method, params }: Request): object {
  if (method === 'initialize')
    return {
      result: {
        protocolVersion: params?.protocolVersion ?? '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'ping', version: '1.0.0' },
      },
    };
  if (method === 'tools/list') return { result: { tools: [TOOL] } };
  if (method === 'tools/call')
    return { result: { content: [{ type: 'text', text: `pong ${params?.arguments?.value}` }] } };
  if (method === 'ping') return { result: {} };
  return { error: { code: -32601, message: `no method ${method}` } };
}
