/** A JSON-RPC error as a whole HTTP answer. */
export function refusal(status: number, code: number, message: string, id: unknown = null): Response {
  const echoed = typeof id === 'string' || typeof id === 'number' ? id : null;
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: echoed }, { status });
}

/** The body's JSON, nothing for a method without one, or the answer to a body that is no JSON. */
export async function readBody(request: Request): Promise<{ body: unknown } | { refused: Response }> {
  if (request.method !== 'POST') return { body: undefined };
  try {
    return { body: JSON.parse(await request.text()) };
  } catch {
    return { refused: refusal(400, -32700, 'Parse error: the request body is not JSON') };
  }
}

/** Whether someone waits for the answer; a stream that only listens is not waited for. */
export function awaitsAnswer(body: unknown): boolean {
  if (Array.isArray(body)) return body.some(awaitsAnswer);
  if (body === null || typeof body !== 'object') return false;
  return 'id' in body && 'method' in body && body.method !== 'subscriptions/listen';
}
