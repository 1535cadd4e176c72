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
