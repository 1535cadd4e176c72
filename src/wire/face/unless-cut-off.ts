/** Settles as the work does, unless the signal comes first: then with its reason, and nobody waits for the work. */
export async function unlessCutOff<T>(work: Promise<T>, cutOff: AbortSignal | undefined): Promise<T> {
  if (!cutOff) return work;
  let stop = () => {};
  const cut = new Promise<never>((_resolve, reject) => {
    stop = () => reject(cutOff.reason);
    cutOff.addEventListener('abort', stop, { once: true });
    if (cutOff.aborted) stop();
  });
  try {
    return await Promise.race([work, cut]);
  } finally {
    cutOff.removeEventListener('abort', stop);
  }
}
