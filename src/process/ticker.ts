/** One timer for everything that has to check a file regularly. It never keeps the process alive. */
export function createTicker(intervalMs: number): (check: () => void) => () => void {
  const checks = new Set<() => void>();
  let timer: NodeJS.Timeout | null = null;

  return check => {
    checks.add(check);
    timer ??= setInterval(() => {
      for (const each of checks) each();
    }, intervalMs).unref();

    return () => {
      checks.delete(check);
      if (checks.size > 0 || !timer) return;
      clearInterval(timer);
      timer = null;
    };
  };
}
