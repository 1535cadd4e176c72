export type Json = Record<string, unknown>;

/** A message of the protocol as it comes over any transport, unchecked. */
export interface Message {
  id?: string | number | null;
  method?: string;
  params?: Json;
  result?: unknown;
  error?: unknown;
}

export const text = (words: string) => ({ type: 'text', text: words });

export const resultOf = (id: Message['id'], result: unknown) => ({ jsonrpc: '2.0', id, result });

export const errorOf = (id: Message['id'], code: unknown, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data !== undefined && { data }) },
});

export const noticeOf = (method: string, params: Json = {}) => ({ jsonrpc: '2.0', method, params });

/** The answer to `initialize`: whatever revision of the older era the client speaks. */
export const welcome = (name: string, params: Json = {}, capabilities: Json = { tools: {} }) => ({
  protocolVersion: params.protocolVersion ?? '2025-06-18',
  capabilities,
  serverInfo: { name, version: '1.0.0' },
});
