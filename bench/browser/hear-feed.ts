/** Minimal page for comparison: reads every message of the live feed and writes one number. */
export async function hearFeed(key: string): Promise<void> {
  const opened = await fetch('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  const { token: bearer } = (await opened.json()) as { token: string };
  const asked = await fetch('/api/ticket', {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: '{"purpose":"live"}',
  });
  const { ticket } = (await asked.json()) as { ticket: string };
  const seen: [string, string, number][] = [];
  const socket = new WebSocket(`ws://${location.host}/api/live?ticket=${ticket}`);
  Object.assign(globalThis, { seen, socket });
  socket.onmessage = ({ data }) => {
    const { events = [] } = JSON.parse(data) as { events?: { runId: string; body: { text?: string } }[] };
    for (const { runId, body } of events) if (body.text) seen.push([runId, body.text, Date.now()]);
    requestAnimationFrame(() => {
      document.title = String(seen.length);
    });
  };
  await new Promise((open, fail) => {
    socket.addEventListener('open', open);
    socket.addEventListener('close', () => fail(new Error('The hub has closed the feed')));
  });
}
