const KEEP_ALIVE_MS = 15_000;
const utf8 = new TextEncoder();

/**
 * The same answer, but if it takes long, as a stream that is open before there is anything to say: some clients give up
 * on a call of which not one byte has come, whatever they were told about progress.
 */
export async function openedEarly(answer: Promise<Response>, afterMs: number): Promise<Response> {
  const quick = await within(answer, afterMs);
  if (quick) return quick;
  return new Response(ReadableStream.from(frames(answer)), {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
  });
}

async function* frames(answer: Promise<Response>): AsyncGenerator<Uint8Array> {
  let response: Response | null = null;
  do {
    yield utf8.encode(': working\n\n');
    response = await within(answer, KEEP_ALIVE_MS);
  } while (response === null);
  if (!response.body) return;
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) yield* response.body;
  else yield utf8.encode(`event: message\ndata: ${JSON.stringify(await response.json())}\n\n`);
}

async function within<T>(answer: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>(resolve => {
    timer = setTimeout(() => resolve(null), ms).unref();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
