/** One timer for everything that has to look at a file from time to time. It never keeps the process alive. */
export function createTicker(intervalMs: number): (look: () => void) => () => void {
  const looks = new Set<() => void>();
  let timer: NodeJS.Timeout | null = null;

  return look => {
    looks.add(look);
    timer ??= setInterval(() => {
      for (const each of looks) each();
    }, intervalMs).unref();

    return () => {
      looks.delete(look);
      if (looks.size > 0 || !timer) return;
      clearInterval(timer);
      timer = null;
    };
  };
}
