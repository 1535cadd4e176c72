export interface CallRoom {
  send(json: string): void;
  mostCalls: number;
  /** Of all calls in flight together. */
  mostCallChars: number;
}

/** Calls on their way out: no more at once than the host takes, the others in the order they were made. */
export function createCalls(room: CallRoom) {
  const waiting = new Map<number, string>();
  const lengths = new Map<number, number>();
  let chars = 0;

  function sendMore(): void {
    for (const [id, json] of waiting) {
      if (lengths.size >= room.mostCalls || chars + json.length > room.mostCallChars) return;
      waiting.delete(id);
      lengths.set(id, json.length);
      chars += json.length;
      room.send(json);
    }
  }

  return {
    send(id: number, json: string): void {
      waiting.set(id, json);
      sendMore();
    },
    settled(id: number): void {
      chars -= lengths.get(id) ?? 0;
      lengths.delete(id);
      sendMore();
    },
    inFlight: () => lengths.size,
  };
}
