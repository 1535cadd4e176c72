/** An SSE comment: a stream with nothing to say yet still has to reach the client, or it gives up on us. */
const OPENING = new TextEncoder().encode(': open\n\n');

/** The same response, ended as soon as the client leaves: the session must not think its stream is still being read. */
export function watchedResponse(response: Response, signal: AbortSignal, onDone: () => void): Response {
  if (!response.body) {
    onDone();
    return response;
  }
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    start: controller => {
      if (isStream) controller.enqueue(OPENING);
    },
  });
  response.body.pipeTo(passing.writable, { signal }).then(onDone, onDone);
  return new Response(passing.readable, { status: response.status, headers: response.headers });
}
