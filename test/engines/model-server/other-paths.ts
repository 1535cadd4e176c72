/** Answers the requests of CLIs that are not for a model: health checks, lists of models, token counts. */
export function otherAnswer(path: string, body: string): { status: number; body: unknown } {
  if (path === '/' || path === '/api/hello') return { status: 200, body: { ok: true } };
  if (path.endsWith('/count_tokens')) return { status: 200, body: { input_tokens: tokens(body) } };
  if (path.endsWith(':countTokens')) return { status: 200, body: { totalTokens: tokens(body) } };
  if (path === '/v1/models')
    return { status: 200, body: { object: 'list', data: [{ id: 'mock-model', object: 'model' }] } };
  return { status: 404, body: { error: { message: `the scripted model has nothing at ${path}` } } };
}

const tokens = (body: string) => Math.ceil(body.length / 4);
