const REVISION = '2026-07-28';

/** A request of Squad's own agents to their run's endpoint, as it goes over HTTP. */
export interface AgentCall {
  headers: Record<string, string>;
  body: string;
}

export function agentCall(
  client: string,
  token: string,
  method: string,
  params: Record<string, unknown>,
): AgentCall {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: client, version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  };
}

/** A body is the message itself, or a stream of events of which the last is; null when it is neither. */
export function lastMessage(body: string): unknown {
  const events = body
    .split(/\r?\n\r?\n/)
    .map(event =>
      event
        .split(/\r?\n/)
        .filter(line => line.startsWith('data:'))
        .map(line => line.slice('data:'.length))
        .join('\n'),
    )
    .filter(data => data.trim() !== '');
  try {
    return JSON.parse(events.at(-1) ?? body);
  } catch {
    return null; // a refusal in plain words
  }
}
