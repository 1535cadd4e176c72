import { Readable } from 'node:stream';
import { sendRequest } from './send-request.ts';

/** Stands for the key where none is to be sent: the providers insist on one. */
export const NO_KEY = 'no-key';

/** `fetch` for the providers, without its own limits on how long a model may be silent. */
export const patientFetch: typeof fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const { body = null, signal = null, method = 'GET' } = init ?? {};
  if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new Error('A request to a model has a body of text or bytes');
  const answer = await sendRequest(url, { method, headers: keysOf(init?.headers), body, signal });
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  const { statusCode: status = 502, statusMessage: statusText } = answer;
  const isBare = status === 204 || status === 205 || status === 304;
  const stream = isBare ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  return new Response(stream, { status, statusText, headers });
};

const keysOf = (given: RequestInit['headers']): Record<string, string> =>
  Object.fromEntries([...new Headers(given)].filter(([, value]) => !value.endsWith(NO_KEY)));
