import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './problem.ts';

/** The JSON object that is sent, which may be nothing; it is read no further than the limit, whatever it says of its size. */
export async function readBody(request: IncomingMessage, most: number): Promise<Record<string, unknown>> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new HttpProblem(415, 'INVALID_INPUT', 'Send the body as Content-Type: application/json');
  const text = new TextDecoder().decode(await bytesOf(request, most));
  try {
    const body: unknown = text === '' ? {} : JSON.parse(text);
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>;
  } catch {
    throw new HttpProblem(400, 'INVALID_INPUT', 'The body is not JSON');
  }
  throw new HttpProblem(400, 'INVALID_INPUT', 'The body is not a JSON object');
}

function bytesOf(request: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = () => new HttpProblem(413, 'MESSAGE_TOO_LARGE', `The body is over ${most} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > most) return Promise.reject(tooLarge());
  return new Promise((settle, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= most) return void chunks.push(chunk);
      // Not destroyed: the answer still has to go out on the same connection.
      request.off('data', take).pause();
      reject(tooLarge());
    };
    const cut = () => reject(new HttpProblem(400, 'INVALID_INPUT', 'The body ended before its end'));
    request.on('data', take).once('end', () => settle(Buffer.concat(chunks)));
    request.once('error', cut).once('close', cut);
  });
}
