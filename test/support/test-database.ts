let ready: string[] | null = null;

/** Sets the databases for `databaseEnvironment`. With null, each home keeps its data in SQLite. */
export function useDatabases(urls: string[] | null): void {
  ready = urls;
}

/** Environment of a new home: a PostgreSQL database of its own in the Vitest project `postgres`, nothing elsewhere. */
export function databaseEnvironment(): Record<string, string> {
  if (!ready) return {};
  const url = ready.pop();
  if (url === undefined)
    throw new Error('This test file uses more homes than test/support/own-databases.ts creates');
  return { SQUAD_DATABASE_URL: url };
}
